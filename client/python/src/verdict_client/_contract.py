# Generated from the contract by `npm run gen`. Do not edit.
"""The types of every request, response and event."""

from __future__ import annotations

from datetime import date, datetime
from typing import Literal, NotRequired, TypedDict, final


_SendRequestKeywords = TypedDict("_SendRequestKeywords", {"from": NotRequired[str | None]})


class SendRequest(_SendRequestKeywords):
    """The message to send.
    `from`: Sender address, `a@example.com` or `Name <a@example.com>`, in ASCII before its `@`. Its domain must be
    a verified domain of the account. With `raw` it may be absent; otherwise it has the address of the From
    header.
    """

    to: str | list[str]
    """Recipients, at least one: `ann@example.com` or `Ann <ann@example.com>`. In JSON a single string is also
    accepted. `to`, `cc` and `bcc` hold at most 50 distinct addresses together. An address in several fields is
    one recipient, of the first of them. Letters beyond ASCII before the `@` need a server that offers SMTPUTF8.
    """
    subject: NotRequired[str | None]
    """Subject, 1 to 998 characters. Required without `raw`. Encoded words (RFC 2047) are decoded, and spaces at the
    end are dropped.
    """
    html: NotRequired[str | None]
    """HTML body, at most 2 MiB. One of `html`, `text` and `raw` is required."""
    text: NotRequired[str | None]
    """Plain-text body, at most 2 MiB. One of `html`, `text` and `raw` is required."""
    reply_to: NotRequired[str | list[str] | None]
    """Reply-To addresses, at most 10, with or without display names. In JSON a single string is also accepted."""
    attachments: NotRequired[list[Attachment] | None]
    """Files to attach, at most 10."""
    headers: NotRequired[dict[str, str] | None]
    """Custom headers, at most 50, each at most 998 characters long, `References` and `In-Reply-To` at most 8,192.
    Headers that the service writes itself are refused: From, To, Subject, Date, Message-ID, Content-* and others.
    """
    tenant_id: NotRequired[str | None]
    """Your own identifier for one of your customers, 1 to 128 printable characters. Each tenant has its own
    suppression list, and you can filter events and statistics by tenant.
    """
    cc: NotRequired[str | list[str] | None]
    """Recipients whom the message names in its Cc header. The format is that of `to`."""
    bcc: NotRequired[str | list[str] | None]
    """Recipients whom no copy of the message names. The format is that of `to`."""
    metadata: NotRequired[dict[str, str] | None]
    """Your own data about the message: at most 20 pairs. A key has 1 to 40 characters of `A-Z a-z 0-9 _ . -`, a
    value at most 500 characters, all of them together at most 4,096 bytes. It comes back in Get email, lists,
    events and webhooks, and is in no header of the message.
    """
    tag: NotRequired[str | None]
    """Your own name for a group of messages, 1 to 100 printable characters. It comes back where `metadata` does, and
    filters lists of emails and events.
    """
    retry_of: NotRequired[str | None]
    """`message_id` of an earlier message that this one sends again. Each recipient must have ended `retryable`
    there, and can be retried once. The account, `tenant_id`, the domain of `from` and the mode (live or dry run)
    must be the same. A chain of retries ends 7 days after its first message. The message keeps the envelope
    sender of the first one, so that mail servers which make unknown senders wait (greylisting) accept it.
    """
    auto_text: NotRequired[bool | None]
    """Makes the plain-text body from the HTML, where `text` is absent."""
    raw: NotRequired[str | bytes | None]
    """A whole message (RFC 5322) that your software has built, with CRLF line ends, in JSON as base64. It replaces
    `subject`, `html`, `text`, `attachments`, `headers`, `reply_to` and `auto_text`. `to`, `cc` and `bcc` decide
    who gets it; its To and Cc headers stay as they are. It has one From address, of a verified domain. The
    service removes Bcc, Resent-Bcc and Return-Path, adds Date and Message-ID where they are absent, and signs it.
    It re-encodes nothing.
    """


class Attachment(TypedDict):
    """A file attached to the message, or an image shown within its HTML."""

    filename: str
    """File name in any script, 1 to 1,024 characters. Required. The message carries only the base name, cut to 255
    bytes.
    """
    content: str | bytes
    """Content of the file. In JSON it is base64, in the standard or the URL alphabet, with or without padding.
    Required; an empty string is an empty file. All attachments of a message together have at most 10 MiB.
    """
    content_type: NotRequired[str | None]
    """Media type, such as `image/png` or `text/calendar; method=REQUEST`. It may carry the parameters `charset`,
    `method`, `component`, `format` and `name`. `multipart/*` and `message/*` are refused. By default the
    extension of `filename` decides. A `text/*` file that is UTF-8 gets `charset=utf-8` where it has no charset. A
    `text/calendar` file with a `method` is an invitation: it is also the last alternative of the body, and a
    `METHOD` in it must be the same.
    """
    content_id: NotRequired[str | None]
    """Makes the file an inline part of the HTML, which refers to it as `cid:` and this id. 1 to 128 characters of
    `A-Z a-z 0-9 . _ @ + -`, different for each file. Needs `html`.
    """


@final
class SendResponseDelivered(TypedDict):
    """The outcome of a send."""

    status: Literal["delivered"]
    """Terminal state of the message. With several recipients it is the worst of theirs: `bounced`, then `rejected`,
    then `delivered`.
    """
    message_id: str
    """Identifier of the message: `msg_` and 26 characters."""
    smtp: NotRequired[SmtpEvidence]
    """Evidence for the only recipient: what its mail server or its DNS said. Absent when neither was asked. With
    several recipients, see each of `recipients`.
    """
    recipients: NotRequired[list[RecipientOutcome]]
    """Outcome of each recipient. Present when the message has more than one."""
    sandbox: NotRequired[bool]
    """True when this was a dry run and nothing was sent."""
    checks: NotRequired[list[Check]]
    """In a dry run, the checks in the order they ran. A check that did not pass decided the outcome of its
    recipients.
    """
    replayed: NotRequired[bool]
    """The key was used before. This is the first response, and this call sent nothing."""
    mismatch: NotRequired[bool]
    """The body of this call differs from the first one. What the first one asked for counts."""


@final
class SendResponseBounced(TypedDict):
    """The outcome of a send."""

    status: Literal["bounced"]
    """Terminal state of the message. With several recipients it is the worst of theirs: `bounced`, then `rejected`,
    then `delivered`.
    """
    message_id: str
    """Identifier of the message: `msg_` and 26 characters."""
    reason: BounceReason
    """Reason of the first recipient with this `status`. Present when `status` is `bounced` or `rejected`."""
    retryable: NotRequired[bool]
    """True when you may send the message again as a new send: see `RecipientOutcome`. With several recipients, see
    each of `recipients`.
    """
    in_doubt: NotRequired[bool]
    """True when the reply to the final dot was lost for at least one recipient: the message may or may not have
    arrived. The service never sends it again.
    """
    smtp: NotRequired[SmtpEvidence]
    """Evidence for the only recipient: what its mail server or its DNS said. Absent when neither was asked. With
    several recipients, see each of `recipients`.
    """
    recipients: NotRequired[list[RecipientOutcome]]
    """Outcome of each recipient. Present when the message has more than one."""
    sandbox: NotRequired[bool]
    """True when this was a dry run and nothing was sent."""
    checks: NotRequired[list[Check]]
    """In a dry run, the checks in the order they ran. A check that did not pass decided the outcome of its
    recipients.
    """
    detail: NotRequired[str]
    """Why the only recipient was rejected and what to do about it. With several recipients, see each of
    `recipients`.
    """
    replayed: NotRequired[bool]
    """The key was used before. This is the first response, and this call sent nothing."""
    mismatch: NotRequired[bool]
    """The body of this call differs from the first one. What the first one asked for counts."""


@final
class SendResponseRejected(TypedDict):
    """The outcome of a send."""

    status: Literal["rejected"]
    """Terminal state of the message. With several recipients it is the worst of theirs: `bounced`, then `rejected`,
    then `delivered`.
    """
    message_id: str
    """Identifier of the message: `msg_` and 26 characters."""
    reason: RejectionReason
    """Reason of the first recipient with this `status`. Present when `status` is `bounced` or `rejected`."""
    smtp: NotRequired[SmtpEvidence]
    """Evidence for the only recipient: what its mail server or its DNS said. Absent when neither was asked. With
    several recipients, see each of `recipients`.
    """
    recipients: NotRequired[list[RecipientOutcome]]
    """Outcome of each recipient. Present when the message has more than one."""
    sandbox: NotRequired[bool]
    """True when this was a dry run and nothing was sent."""
    checks: NotRequired[list[Check]]
    """In a dry run, the checks in the order they ran. A check that did not pass decided the outcome of its
    recipients.
    """
    suppression: NotRequired[Suppression]
    """The suppression entry that blocked the only recipient. Present when `reason` is `suppression_list`, except for
    the simulator's address.
    """
    detail: NotRequired[str]
    """Why the only recipient was rejected and what to do about it. With several recipients, see each of
    `recipients`.
    """
    replayed: NotRequired[bool]
    """The key was used before. This is the first response, and this call sent nothing."""
    mismatch: NotRequired[bool]
    """The body of this call differs from the first one. What the first one asked for counts."""


SendResponse = SendResponseDelivered | SendResponseBounced | SendResponseRejected
"""The outcome of a send."""


DeliveryStatus = Literal["delivered", "bounced", "rejected"]
"""Terminal state of a message or of one recipient. There are no other states, and a terminal state never changes.

- `delivered`: The recipient's server replied 250 to the final dot of the message. This says nothing about the
  inbox.
- `bounced`: The recipient's side did not accept the message.
- `rejected`: The service refused the message before it sent anything. Do not retry.
"""


BounceReason = Literal[
    "mailbox_full",
    "mailbox_does_not_exist",
    "no_mx_record",
    "connection_timeout",
    "policy_block",
    "spam_blocked",
    "temporary_failure",
]
"""Reasons of a bounce."""

RejectionReason = Literal["suppression_list", "invalid_address", "domain_not_verified"]
"""Reasons of a rejection."""

Reason = BounceReason | RejectionReason
"""Why a message was bounced or rejected.

- `mailbox_full`: Bounce: the recipient's mailbox is over its quota.
- `mailbox_does_not_exist`: Bounce: the recipient's server does not know the address.
- `no_mx_record`: Bounce: the recipient's domain does not exist or has no server that accepts mail.
- `connection_timeout`: Bounce: no server of the recipient was reached, or none reached the final dot in time.
  With `in_doubt`, the reply to the final dot was lost; without it, the outcome has `retryable`.
- `policy_block`: Bounce: the recipient's server refused the message by policy, for example because of a block
  list, authentication, size or relaying. This reason is an addition to those every client knows; handle an
  unknown reason as a plain bounce.
- `spam_blocked`: Bounce: the recipient's server classified the content as spam or a virus. This reason is an
  addition, like `policy_block`.
- `temporary_failure`: Bounce: the recipient's server refused the message for now (4xx, greylisting, rate limit),
  or the service stopped before the message was complete. It always has `retryable`. This reason is an addition,
  like `policy_block`.
- `suppression_list`: Rejection: the address is on a suppression list.
- `invalid_address`: Rejection: the address can never receive mail, because its domain has a null MX, only private
  or reserved exchangers, or a special-use top-level domain.
- `domain_not_verified`: Rejection: the sending domain belongs to the account but is not verified, or is no longer
  verified.
"""


class SmtpEvidence(TypedDict):
    """What the recipient's server said: the evidence for an outcome."""

    mx: NotRequired[str]
    """Host name of the mail exchanger."""
    ip: NotRequired[str]
    """IP address that the service connected to."""
    code: NotRequired[int]
    """SMTP reply code, such as 250 or 550. Absent when there was no reply."""
    enhanced: NotRequired[str]
    """Enhanced status code (RFC 3463), such as `5.1.1`. Absent when the server sent none."""
    reply: NotRequired[str]
    """Text of the reply in one line, at most 1,024 bytes, without control characters."""
    phase: SmtpPhase
    """Phase that the conversation reached."""
    tls: Tls | None
    """TLS session, or `null` when the conversation was not encrypted."""
    duration_ms: int
    """Time from the beginning of the send, its MX look-up included, to the outcome, in milliseconds."""
    detail: NotRequired[str]
    """Why the conversation ended when no reply says so, such as `ECONNREFUSED 192.0.2.1` or `MTA-STS demands TLS
    with a valid certificate: CERT_HAS_EXPIRED`.
    """
    timings: NotRequired[SmtpTimings]
    """How long each phase took."""
    reused: NotRequired[bool]
    """True when the message went over a connection that an earlier message or transaction had used, or that was
    opened ahead.
    """
    tried: NotRequired[list[TriedHost]]
    """The other tries, in their order: before the one that decided, or after it when they were no better."""
    read_as: NotRequired[str]
    """How the service read a refusal: what the reply speaks of (`session`, `sender`, `message`, `space`, `mailbox`
    or `route`), and in brackets the rule that decided, such as `sender (rate)`. Rules may be renamed: show this,
    do not parse it.
    """
    transaction: NotRequired[int]
    """Number of the SMTP transaction in the message, from 1 on. Recipients with the same number were in one
    transaction and share its fate from DATA on, unless a refusal named one of them. Present when the message has
    several recipients and the server was asked for a transaction.
    """
    decided_by: NotRequired[DecidedBy]
    """Which part of the reply decided how it was read. Present with `read_as`, unless no reply decided: a recipient
    that the server was not asked about alone.
    """
    words: NotRequired[str]
    """The phrase of the reply that decided. Present when words decided."""


SmtpPhase = Literal[
    "dns",
    "connect",
    "greeting",
    "ehlo",
    "starttls",
    "mail",
    "rcpt",
    "data",
    "dot",
    "after_dot",
    "late",
]
"""Phase that the conversation with the recipient's server had reached when the outcome was known.

- `dns`: Looking up the domain's mail exchangers.
- `connect`: Opening the TCP connection.
- `greeting`: Waiting for the server's first line.
- `ehlo`: EHLO or HELO.
- `starttls`: STARTTLS and the TLS handshake.
- `mail`: MAIL FROM.
- `rcpt`: RCPT TO of this recipient.
- `data`: DATA and the content.
- `dot`: Reply to the final dot.
- `after_dot`: The final dot was sent and no reply to it was read: the outcome is in doubt.
- `late`: None: a report came back after the conversation. Only evidence for a report has this phase.
"""


class Tls(TypedDict):
    """TLS session that carried a message."""

    version: str
    """Protocol version, such as `TLSv1.3`."""
    verified: bool
    """True when the certificate was proved to be the server's. Delivery depends on it only when the TLSA records of
    the server, the recipient's MTA-STS policy or the sending domain require it.
    """
    by: NotRequired[str]
    """What proved the certificate: `dane` (the TLSA records of the server), `mta-sts` (the policy of the recipient's
    domain, and a public authority) or `pkix` (a public authority alone). Present when `verified` is true.
    """


class SmtpTimings(TypedDict):
    """How long each phase of a send took, in milliseconds, to a tenth. A phase is absent when the send did not reach
    it, or did not need it because a connection was already open. With several tries a phase is the sum of them
    all. The rest of `duration_ms` went into the checks before, and into waiting for a connection.
    """

    dns: NotRequired[float]
    """Looking up the domain's mail exchangers and their policy."""
    connect: NotRequired[float]
    """Opening the TCP connection."""
    greeting: NotRequired[float]
    """Waiting for the server's first line."""
    ehlo: NotRequired[float]
    """EHLO or HELO."""
    starttls: NotRequired[float]
    """STARTTLS and the TLS handshake."""
    mail: NotRequired[float]
    """MAIL FROM."""
    rcpt: NotRequired[float]
    """RCPT TO of this recipient."""
    data: NotRequired[float]
    """DATA, until the server asked for the content."""
    dot: NotRequired[float]
    """Sending the content, storing that the final dot is due, and waiting for the reply to it."""
    own: NotRequired[float]
    """The service's own waits: for a free connection, for its database, and while it was busy. Those during a phase
    count in that phase, too. They never count as the server's silence.
    """


class TriedHost(TypedDict):
    """A try that did not decide."""

    mx: str
    """Host name of the mail exchanger."""
    ip: NotRequired[str]
    """IP address that the service connected to. Absent when the name has no address."""
    phase: SmtpPhase
    """Phase that the conversation reached."""
    detail: str
    """Why the try failed: the reply, such as `452 4.5.3 too many recipients`, or the fault of the connection, such
    as `ECONNREFUSED 192.0.2.1`. It begins with `on a kept connection:` when a connection from an earlier message
    or transaction turned out to be closed or spent; the same host is then tried again. It ends with `: TLS was
    never offered` when the server refused EHLO and took HELO, which may be how the conversation that decided
    began.
    """


DecidedBy = Literal["words", "status", "code", "report"]
"""Which part of a reply or report decided how it was read.

- `words`: Its words: see `words`.
- `status`: Its enhanced status code.
- `code`: Nothing but its reply code.
- `report`: The report is a complaint.
"""


@final
class RecipientOutcomeDelivered(TypedDict):
    """Outcome of one recipient of a message."""

    email: str
    """Address of the recipient, with its domain as A-labels."""
    status: Literal["delivered"]
    """Terminal state of the recipient."""
    smtp: NotRequired[SmtpEvidence]
    """Evidence for the outcome. Present when a server or its DNS was asked."""
    kind: RecipientKind
    """Field of the request that the recipient was given in."""


@final
class RecipientOutcomeBounced(TypedDict):
    """Outcome of one recipient of a message."""

    email: str
    """Address of the recipient, with its domain as A-labels."""
    status: Literal["bounced"]
    """Terminal state of the recipient."""
    reason: BounceReason
    """Reason of the outcome. Present when `status` is `bounced` or `rejected`."""
    smtp: NotRequired[SmtpEvidence]
    """Evidence for the outcome. Present when a server or its DNS was asked."""
    retryable: NotRequired[bool]
    """True when you may send the message to this recipient again, as a new send with `retry_of`: after
    `temporary_failure`, and after `connection_timeout` that is not in doubt. The service itself never retries.
    """
    in_doubt: NotRequired[bool]
    """True when the reply to the final dot was lost: the message may or may not have arrived. The service never
    sends it again.
    """
    detail: NotRequired[str]
    """Why the recipient was rejected and what to do about it. It begins with "a fault of this service" when a fault
    of the service kept it from sending to the recipient, although other recipients of the message have an
    outcome: nothing was sent to this one, and no server decided on it.
    """
    kind: RecipientKind
    """Field of the request that the recipient was given in."""


@final
class RecipientOutcomeRejected(TypedDict):
    """Outcome of one recipient of a message."""

    email: str
    """Address of the recipient, with its domain as A-labels."""
    status: Literal["rejected"]
    """Terminal state of the recipient."""
    reason: RejectionReason
    """Reason of the outcome. Present when `status` is `bounced` or `rejected`."""
    smtp: NotRequired[SmtpEvidence]
    """Evidence for the outcome. Present when a server or its DNS was asked."""
    suppression: NotRequired[Suppression]
    """The suppression entry that blocked the recipient. Present when `reason` is `suppression_list`, except for the
    simulator's address.
    """
    detail: NotRequired[str]
    """Why the recipient was rejected and what to do about it. It begins with "a fault of this service" when a fault
    of the service kept it from sending to the recipient, although other recipients of the message have an
    outcome: nothing was sent to this one, and no server decided on it.
    """
    kind: RecipientKind
    """Field of the request that the recipient was given in."""


RecipientOutcome = RecipientOutcomeDelivered | RecipientOutcomeBounced | RecipientOutcomeRejected
"""Outcome of one recipient of a message."""


class Suppression(TypedDict):
    """The suppression entry that blocked a recipient."""

    scope: SuppressionScope
    """Which sends the entry applies to."""
    cause: SuppressionReason
    """What created the entry."""
    since: str
    """When the address was suppressed."""


SuppressionScope = Literal["global", "account", "tenant"]
"""Which sends a suppression entry applies to.

- `global`: All sends of all accounts.
- `account`: All sends of the account.
- `tenant`: Sends of the account with the entry's `tenant_id`.
"""


SuppressionReason = Literal["bounce", "complaint", "import", "manual"]
"""What created a suppression entry.

- `bounce`: A message to the address bounced: the mailbox does not exist, or refused mail or was full several
  times.
- `complaint`: The recipient complained about a message.
- `import`: The address was imported.
- `manual`: The address was added by hand.
"""


RecipientKind = Literal["to", "cc", "bcc"]
"""Field of the request that a recipient was given in. An address in several fields counts once, in the first of
`to`, `cc` and `bcc`.

- `to`: `to`.
- `cc`: `cc`.
- `bcc`: `bcc`: no copy of the message names this recipient.
"""


class Check(TypedDict):
    """One check of a dry run."""

    name: str
    """Name of the check: `payload`, `domain`, `warm_up`, `quota`, `breaker`, `address`, `suppression` or
    `recipient_mx`.
    """
    passed: bool
    """True when the check found nothing against the send."""
    detail: NotRequired[str]
    """What the check found, in words."""


class SendBatchRequest(TypedDict):
    """The messages to send."""

    emails: list[BatchItem]
    """1 to 100 messages. In JSON the body may also be this list alone."""


_BatchItemKeywords = TypedDict("_BatchItemKeywords", {"from": NotRequired[str | None]})


class BatchItem(_BatchItemKeywords):
    """One message of a batch: the fields of a send, and its own idempotency key.
    `from`: Sender address, `a@example.com` or `Name <a@example.com>`. The message is rejected unless its domain
    is a verified domain of the account. With `raw` it may be absent; otherwise it has the address of the From
    header.
    """

    to: str | list[str]
    """Recipients, at least one: `ann@example.com` or `Ann <ann@example.com>`. In JSON a single string is also
    accepted. `to`, `cc` and `bcc` hold at most 50 distinct addresses together. An address in several fields is
    one recipient, of the first of them. Letters beyond ASCII before the `@` need a server that offers SMTPUTF8.
    """
    subject: NotRequired[str | None]
    """Subject, 1 to 998 characters. Required without `raw`. Encoded words (RFC 2047) are decoded, and spaces at the
    end are dropped.
    """
    html: NotRequired[str | None]
    """HTML body, at most 2 MiB. One of `html`, `text` and `raw` is required."""
    text: NotRequired[str | None]
    """Plain-text body, at most 2 MiB. One of `html`, `text` and `raw` is required."""
    reply_to: NotRequired[str | list[str] | None]
    """Reply-To addresses, at most 10, with or without display names. In JSON a single string is also accepted."""
    attachments: NotRequired[list[Attachment] | None]
    """Files to attach, at most 10."""
    headers: NotRequired[dict[str, str] | None]
    """Custom headers, at most 50, each at most 998 characters long, `References` and `In-Reply-To` at most 8,192.
    Headers that the service writes itself are refused: From, To, Subject, Date, Message-ID, Content-* and others.
    """
    tenant_id: NotRequired[str | None]
    """Your own identifier for one of your customers, 1 to 128 printable characters. Each tenant has its own
    suppression list, and you can filter events and statistics by tenant.
    """
    idempotency_key: NotRequired[str | None]
    """Idempotency key of this message, 1 to 256 printable ASCII characters. It works like the header
    `Idempotency-Key` of a send and shares its keys. By default the key is derived from the header of the batch,
    if the batch has one.
    """
    cc: NotRequired[str | list[str] | None]
    """Recipients whom the message names in its Cc header. The format is that of `to`."""
    bcc: NotRequired[str | list[str] | None]
    """Recipients whom no copy of the message names. The format is that of `to`."""
    metadata: NotRequired[dict[str, str] | None]
    """Your own data about the message: at most 20 pairs. A key has 1 to 40 characters of `A-Z a-z 0-9 _ . -`, a
    value at most 500 characters, all of them together at most 4,096 bytes. It comes back in Get email, lists,
    events and webhooks, and is in no header of the message.
    """
    tag: NotRequired[str | None]
    """Your own name for a group of messages, 1 to 100 printable characters. It comes back where `metadata` does, and
    filters lists of emails and events.
    """
    retry_of: NotRequired[str | None]
    """`message_id` of an earlier message that this one sends again. Each recipient must have ended `retryable`
    there, and can be retried once. The account, `tenant_id`, the domain of `from` and the mode (live or dry run)
    must be the same. A chain of retries ends 7 days after its first message. The message keeps the envelope
    sender of the first one, so that mail servers which make unknown senders wait (greylisting) accept it.
    """
    auto_text: NotRequired[bool | None]
    """Makes the plain-text body from the HTML, where `text` is absent."""
    raw: NotRequired[str | bytes | None]
    """A whole message (RFC 5322) that your software has built, with CRLF line ends, in JSON as base64. It replaces
    `subject`, `html`, `text`, `attachments`, `headers`, `reply_to` and `auto_text`. `to`, `cc` and `bcc` decide
    who gets it; its To and Cc headers stay as they are. It has one From address, of a verified domain. The
    service removes Bcc, Resent-Bcc and Return-Path, adds Date and Message-ID where they are absent, and signs it.
    It re-encodes nothing.
    """


class SendBatchResponse(TypedDict):
    """The results of a batch."""

    results: list[BatchResult]
    """One result for each message, in the order of the request."""
    summary: NotRequired[BatchSummary]
    """How many messages ended in each state."""
    replayed: NotRequired[bool]
    """The key was used before. This is the first response, and this call sent nothing."""
    mismatch: NotRequired[bool]
    """The body of this call differs from the first one. What the first one asked for counts."""


@final
class BatchResultDelivered(TypedDict):
    """The result of one message: either the response of a send, with `status`, or an error, with `error`."""

    index: int
    """Position of the message in the request, starting at 0."""
    status: Literal["delivered"]
    """Terminal state of the message. With several recipients it is the worst of theirs: `bounced`, then `rejected`,
    then `delivered`. Absent when there is an `error`.
    """
    message_id: str
    """Identifier of the message: `msg_` and 26 characters. Absent when there is an `error`."""
    smtp: NotRequired[SmtpEvidence]
    """Evidence for the only recipient: what its mail server or its DNS said. Absent when neither was asked. With
    several recipients, see each of `recipients`.
    """
    recipients: NotRequired[list[RecipientOutcome]]
    """Outcome of each recipient. Present when the message has more than one."""
    sandbox: NotRequired[bool]
    """True when this was a dry run and nothing was sent."""
    checks: NotRequired[list[Check]]
    """In a dry run, the checks in the order they ran. A check that did not pass decided the outcome of its
    recipients.
    """


@final
class BatchResultBounced(TypedDict):
    """The result of one message: either the response of a send, with `status`, or an error, with `error`."""

    index: int
    """Position of the message in the request, starting at 0."""
    status: Literal["bounced"]
    """Terminal state of the message. With several recipients it is the worst of theirs: `bounced`, then `rejected`,
    then `delivered`. Absent when there is an `error`.
    """
    message_id: str
    """Identifier of the message: `msg_` and 26 characters. Absent when there is an `error`."""
    reason: BounceReason
    """Reason of the first recipient with this `status`. Present when `status` is `bounced` or `rejected`."""
    retryable: NotRequired[bool]
    """True when you may send the message again as a new send: see `RecipientOutcome`. With several recipients, see
    each of `recipients`.
    """
    in_doubt: NotRequired[bool]
    """True when the reply to the final dot was lost for at least one recipient: the message may or may not have
    arrived. The service never sends it again.
    """
    smtp: NotRequired[SmtpEvidence]
    """Evidence for the only recipient: what its mail server or its DNS said. Absent when neither was asked. With
    several recipients, see each of `recipients`.
    """
    recipients: NotRequired[list[RecipientOutcome]]
    """Outcome of each recipient. Present when the message has more than one."""
    sandbox: NotRequired[bool]
    """True when this was a dry run and nothing was sent."""
    checks: NotRequired[list[Check]]
    """In a dry run, the checks in the order they ran. A check that did not pass decided the outcome of its
    recipients.
    """
    detail: NotRequired[str]
    """Why the only recipient was rejected and what to do about it. With several recipients, see each of
    `recipients`.
    """


@final
class BatchResultRejected(TypedDict):
    """The result of one message: either the response of a send, with `status`, or an error, with `error`."""

    index: int
    """Position of the message in the request, starting at 0."""
    status: Literal["rejected"]
    """Terminal state of the message. With several recipients it is the worst of theirs: `bounced`, then `rejected`,
    then `delivered`. Absent when there is an `error`.
    """
    message_id: str
    """Identifier of the message: `msg_` and 26 characters. Absent when there is an `error`."""
    reason: RejectionReason
    """Reason of the first recipient with this `status`. Present when `status` is `bounced` or `rejected`."""
    smtp: NotRequired[SmtpEvidence]
    """Evidence for the only recipient: what its mail server or its DNS said. Absent when neither was asked. With
    several recipients, see each of `recipients`.
    """
    recipients: NotRequired[list[RecipientOutcome]]
    """Outcome of each recipient. Present when the message has more than one."""
    sandbox: NotRequired[bool]
    """True when this was a dry run and nothing was sent."""
    checks: NotRequired[list[Check]]
    """In a dry run, the checks in the order they ran. A check that did not pass decided the outcome of its
    recipients.
    """
    suppression: NotRequired[Suppression]
    """The suppression entry that blocked the only recipient. Present when `reason` is `suppression_list`, except for
    the simulator's address.
    """
    detail: NotRequired[str]
    """Why the only recipient was rejected and what to do about it. With several recipients, see each of
    `recipients`.
    """


@final
class BatchResultFailed(TypedDict):
    """The result of one message: either the response of a send, with `status`, or an error, with `error`."""

    index: int
    """Position of the message in the request, starting at 0."""
    error: ErrorReason
    """Error code of a message that has no outcome. Nothing was sent. Absent when there is a `status`."""
    message: str
    """What is wrong, in words. Present with `error`."""
    retry_after: NotRequired[int]
    """Seconds to wait before you try again. Present when `error` is `rate_limit_exceeded`."""
    details: NotRequired[list[FieldFault]]
    """The invalid fields, by their path within the message, such as `attachments[0].content`."""


BatchResult = (
    BatchResultDelivered
    | BatchResultBounced
    | BatchResultRejected
    | BatchResultFailed
)
"""The result of one message: either the response of a send, with `status`, or an error, with `error`."""


ErrorReason = Literal[
    "invalid_payload",
    "invalid_address",
    "invalid_api_key",
    "domain_not_verified",
    "insufficient_scope",
    "not_found",
    "method_not_allowed",
    "event_expired",
    "payload_too_large",
    "unsupported_media_type",
    "transient_failure",
    "rate_limit_exceeded",
    "webhook_not_configured",
]
"""Why a call failed.

- `invalid_payload`: 400: the JSON is malformed, or a field is missing, unknown, of the wrong type or too large.
  `details` names the field.
- `invalid_address`: 400: an address does not parse. `details` names the field.
- `invalid_api_key`: 401: the API key is missing, unknown, revoked or expired.
- `domain_not_verified`: 403: the From domain is not a domain of the account.
- `insufficient_scope`: 403: the API key lacks the scope of this call. Test keys can only send dry runs and read.
- `not_found`: 404: the path does not exist, or the account has no such message, event, domain, endpoint or
  suppression entry.
- `method_not_allowed`: 405: the path exists, but does not support this method. The header `Allow` lists the
  supported ones.
- `event_expired`: 410: the id is older than 90 days, which is how long messages and events are kept.
- `payload_too_large`: 413: the request is larger than 15 MiB.
- `unsupported_media_type`: 415: the body is not JSON in UTF-8, or it is compressed. gRPC and Connect accept gzip,
  and no other compression.
- `transient_failure`: 500: a fault of the service. Nothing was sent, and it is safe to retry.
- `rate_limit_exceeded`: 429: the requests per minute are used up, the domain's warm-up or circuit breaker allows
  no more, or too many lists, counts, statistics or imports of the account run at the same time. Wait
  `retry_after` seconds.
- `webhook_not_configured`: 409: the account has no webhook endpoint.
"""


class FieldFault(TypedDict):
    """An invalid field of a request."""

    field: str
    """Path of the field in JSON, such as `to[1]`, `attachments[0].content` or `headers["X-Order"]`."""
    message: str
    """What is wrong with the field."""


class BatchSummary(TypedDict):
    """How many messages of a batch ended in each state. The other four fields add up to `total`."""

    total: int
    """Messages in the request."""
    delivered: int
    """Results with `status` `delivered`."""
    bounced: int
    """Results with `status` `bounced`."""
    rejected: int
    """Results with `status` `rejected`."""
    failed: int
    """Results with an `error`."""


FeedbackKind = Literal["late_bounce", "complaint"]
"""What a later report says.

- `late_bounce`: A mail server accepted the email and then could not deliver it.
- `complaint`: The recipient complained, for example by marking the email as spam.
"""


class ListEmailsResponse(TypedDict):
    """One page of emails."""

    emails: list[ListedEmail]
    """The emails, newest `createdAt` first; emails of the same millisecond are ordered by id. A search stops after a
    second: where filters find few of very many emails, a page has fewer than `limit`, or none, and `next_cursor`
    goes on.
    """
    next_cursor: NotRequired[str]
    """Cursor of the next page. Absent on the last page."""
    has_more: bool
    """True when there is a next page."""


_ListedEmailDeliveredKeywords = TypedDict("_ListedEmailDeliveredKeywords", {"from": str})


@final
class ListedEmailDelivered(_ListedEmailDeliveredKeywords):
    """An email as a list shows it. Get email has its evidence, events and headers. In JSON its own timestamps are
    camelCase (`createdAt`), like those of Get email.
    `from`: Sender, as given in the request.
    """

    message_id: str
    """Identifier of the message: `msg_` and 26 characters."""
    status: Literal["delivered"]
    """Terminal state of the message."""
    subject: str
    """Subject."""
    recipients: list[ListedRecipient]
    """Outcome of each recipient."""
    tag: NotRequired[str]
    """Tag given with the send."""
    metadata: NotRequired[dict[str, str]]
    """Metadata given with the send."""
    tenant_id: NotRequired[str]
    """Tenant given with the send."""
    sandbox: bool
    """True when this was a dry run."""
    createdAt: str
    """When the send was accepted."""
    completedAt: str
    """When the outcome was recorded."""
    feedback: list[ListedFeedback]
    """Bounces and complaints that came back after the outcome, oldest first. They never change `status`."""


_ListedEmailBouncedKeywords = TypedDict("_ListedEmailBouncedKeywords", {"from": str})


@final
class ListedEmailBounced(_ListedEmailBouncedKeywords):
    """An email as a list shows it. Get email has its evidence, events and headers. In JSON its own timestamps are
    camelCase (`createdAt`), like those of Get email.
    `from`: Sender, as given in the request.
    """

    message_id: str
    """Identifier of the message: `msg_` and 26 characters."""
    status: Literal["bounced"]
    """Terminal state of the message."""
    reason: BounceReason
    """Reason of the first recipient with this `status`. Present when `status` is `bounced` or `rejected`."""
    subject: str
    """Subject."""
    recipients: list[ListedRecipient]
    """Outcome of each recipient."""
    tag: NotRequired[str]
    """Tag given with the send."""
    metadata: NotRequired[dict[str, str]]
    """Metadata given with the send."""
    tenant_id: NotRequired[str]
    """Tenant given with the send."""
    sandbox: bool
    """True when this was a dry run."""
    createdAt: str
    """When the send was accepted."""
    completedAt: str
    """When the outcome was recorded."""
    in_doubt: NotRequired[bool]
    """True when the reply to the final dot was lost for at least one recipient: the message may or may not have
    arrived.
    """
    feedback: list[ListedFeedback]
    """Bounces and complaints that came back after the outcome, oldest first. They never change `status`."""


_ListedEmailRejectedKeywords = TypedDict("_ListedEmailRejectedKeywords", {"from": str})


@final
class ListedEmailRejected(_ListedEmailRejectedKeywords):
    """An email as a list shows it. Get email has its evidence, events and headers. In JSON its own timestamps are
    camelCase (`createdAt`), like those of Get email.
    `from`: Sender, as given in the request.
    """

    message_id: str
    """Identifier of the message: `msg_` and 26 characters."""
    status: Literal["rejected"]
    """Terminal state of the message."""
    reason: RejectionReason
    """Reason of the first recipient with this `status`. Present when `status` is `bounced` or `rejected`."""
    subject: str
    """Subject."""
    recipients: list[ListedRecipient]
    """Outcome of each recipient."""
    tag: NotRequired[str]
    """Tag given with the send."""
    metadata: NotRequired[dict[str, str]]
    """Metadata given with the send."""
    tenant_id: NotRequired[str]
    """Tenant given with the send."""
    sandbox: bool
    """True when this was a dry run."""
    createdAt: str
    """When the send was accepted."""
    completedAt: str
    """When the outcome was recorded."""
    feedback: list[ListedFeedback]
    """Bounces and complaints that came back after the outcome, oldest first. They never change `status`."""


ListedEmail = ListedEmailDelivered | ListedEmailBounced | ListedEmailRejected
"""An email as a list shows it. Get email has its evidence, events and headers. In JSON its own timestamps are
camelCase (`createdAt`), like those of Get email.
"""


@final
class ListedRecipientDelivered(TypedDict):
    """A recipient and its outcome, as a list shows them."""

    email: str
    """Address of the recipient."""
    kind: RecipientKind
    """Field of the request that the recipient was given in."""
    status: Literal["delivered"]
    """Terminal state of the recipient."""
    mx: NotRequired[str]
    """Host name of the mail exchanger that decided the outcome. Absent when none was asked."""


@final
class ListedRecipientBounced(TypedDict):
    """A recipient and its outcome, as a list shows them."""

    email: str
    """Address of the recipient."""
    kind: RecipientKind
    """Field of the request that the recipient was given in."""
    status: Literal["bounced"]
    """Terminal state of the recipient."""
    reason: BounceReason
    """Reason of the outcome. Present when `status` is `bounced` or `rejected`."""
    in_doubt: NotRequired[bool]
    """True when the reply to the final dot was lost: the message may or may not have arrived."""
    mx: NotRequired[str]
    """Host name of the mail exchanger that decided the outcome. Absent when none was asked."""


@final
class ListedRecipientRejected(TypedDict):
    """A recipient and its outcome, as a list shows them."""

    email: str
    """Address of the recipient."""
    kind: RecipientKind
    """Field of the request that the recipient was given in."""
    status: Literal["rejected"]
    """Terminal state of the recipient."""
    reason: RejectionReason
    """Reason of the outcome. Present when `status` is `bounced` or `rejected`."""
    mx: NotRequired[str]
    """Host name of the mail exchanger that decided the outcome. Absent when none was asked."""


ListedRecipient = ListedRecipientDelivered | ListedRecipientBounced | ListedRecipientRejected
"""A recipient and its outcome, as a list shows them."""


class ListedFeedback(TypedDict):
    """A report that came back after the outcome, as a list shows it. Get email has its text and how it was read."""

    kind: FeedbackKind
    """Kind of report."""
    reason: NotRequired[Reason]
    """Reason of the bounce, as far as the report says it. Absent for a complaint."""
    reported_at: str
    """When the service received the report."""
    recipient: str
    """Address of the recipient that the report is about."""
    member: NotRequired[bool]
    """True when a mailbox other than the recipient's failed, such as a member of a list or alias."""


_GetEmailResponseDeliveredKeywords = TypedDict("_GetEmailResponseDeliveredKeywords", {"from": str})


@final
class GetEmailResponseDelivered(_GetEmailResponseDeliveredKeywords):
    """A stored email. In JSON its own timestamps are camelCase (`createdAt`), unlike those of all other messages.
    `from`: Sender, as given in the request.
    """

    message_id: str
    """Identifier of the message: `msg_` and 26 characters."""
    status: Literal["delivered"]
    """Terminal state of the message."""
    to: list[str]
    """The recipients of `to`, each `ann@example.com` or `Ann <ann@example.com>`, with its domain as A-labels."""
    reply_to: NotRequired[str]
    """Reply-To. Several addresses are separated by commas, as in the header of the message."""
    subject: str
    """Subject."""
    headers: dict[str, str]
    """Custom headers."""
    tenant_id: NotRequired[str]
    """Tenant given with the send."""
    sandbox: bool
    """True when this was a dry run."""
    size_bytes: int
    """Size of the message as sent over SMTP, headers included, in bytes. 0 when no message was built, or the service
    stopped during the send.
    """
    attachments: list[StoredAttachment]
    """The attachments, without their content."""
    recipients: list[RecipientOutcome]
    """Outcome and evidence of each recipient."""
    events: list[EmailEvent]
    """The events of the outcomes, one for each recipient. The events of `feedback` are in the list of events."""
    createdAt: str
    """When the send was accepted."""
    completedAt: str
    """When the outcome was recorded."""
    expiresAt: str
    """When the stored email is deleted: 90 days after `createdAt`."""
    html: NotRequired[str]
    """HTML body. Kept only when the operator stores content."""
    text: NotRequired[str]
    """Plain-text body. Kept only when the operator stores content."""
    feedback: list[Feedback]
    """Bounces and complaints that came later, oldest first."""
    cc: NotRequired[list[str]]
    """The recipients of `cc`, in the format of `to`."""
    bcc: NotRequired[list[str]]
    """The recipients of `bcc`, in the format of `to`."""
    metadata: NotRequired[dict[str, str]]
    """Metadata given with the send."""
    tag: NotRequired[str]
    """Tag given with the send."""
    retry_of: NotRequired[str]
    """`message_id` of the message that this one retries, as given with the send."""
    retried_by: NotRequired[list[str]]
    """`message_id` of the messages that retry recipients of this one, oldest first. A send that is still running is
    among them.
    """
    auto_text: NotRequired[bool]
    """True when the plain-text body was to be made from the HTML."""
    raw: NotRequired[bool]
    """True when the message was given whole, as `raw`. `subject`, `attachments` and the bodies are then read from
    it.
    """


_GetEmailResponseBouncedKeywords = TypedDict("_GetEmailResponseBouncedKeywords", {"from": str})


@final
class GetEmailResponseBounced(_GetEmailResponseBouncedKeywords):
    """A stored email. In JSON its own timestamps are camelCase (`createdAt`), unlike those of all other messages.
    `from`: Sender, as given in the request.
    """

    message_id: str
    """Identifier of the message: `msg_` and 26 characters."""
    status: Literal["bounced"]
    """Terminal state of the message."""
    reason: BounceReason
    """Reason of the first recipient with this `status`. Present when `status` is `bounced` or `rejected`."""
    to: list[str]
    """The recipients of `to`, each `ann@example.com` or `Ann <ann@example.com>`, with its domain as A-labels."""
    reply_to: NotRequired[str]
    """Reply-To. Several addresses are separated by commas, as in the header of the message."""
    subject: str
    """Subject."""
    headers: dict[str, str]
    """Custom headers."""
    tenant_id: NotRequired[str]
    """Tenant given with the send."""
    sandbox: bool
    """True when this was a dry run."""
    in_doubt: NotRequired[bool]
    """True when the reply to the final dot was lost: the message may or may not have arrived."""
    size_bytes: int
    """Size of the message as sent over SMTP, headers included, in bytes. 0 when no message was built, or the service
    stopped during the send.
    """
    attachments: list[StoredAttachment]
    """The attachments, without their content."""
    recipients: list[RecipientOutcome]
    """Outcome and evidence of each recipient."""
    events: list[EmailEvent]
    """The events of the outcomes, one for each recipient. The events of `feedback` are in the list of events."""
    createdAt: str
    """When the send was accepted."""
    completedAt: str
    """When the outcome was recorded."""
    expiresAt: str
    """When the stored email is deleted: 90 days after `createdAt`."""
    html: NotRequired[str]
    """HTML body. Kept only when the operator stores content."""
    text: NotRequired[str]
    """Plain-text body. Kept only when the operator stores content."""
    feedback: list[Feedback]
    """Bounces and complaints that came later, oldest first."""
    cc: NotRequired[list[str]]
    """The recipients of `cc`, in the format of `to`."""
    bcc: NotRequired[list[str]]
    """The recipients of `bcc`, in the format of `to`."""
    metadata: NotRequired[dict[str, str]]
    """Metadata given with the send."""
    tag: NotRequired[str]
    """Tag given with the send."""
    retry_of: NotRequired[str]
    """`message_id` of the message that this one retries, as given with the send."""
    retried_by: NotRequired[list[str]]
    """`message_id` of the messages that retry recipients of this one, oldest first. A send that is still running is
    among them.
    """
    auto_text: NotRequired[bool]
    """True when the plain-text body was to be made from the HTML."""
    raw: NotRequired[bool]
    """True when the message was given whole, as `raw`. `subject`, `attachments` and the bodies are then read from
    it.
    """


_GetEmailResponseRejectedKeywords = TypedDict("_GetEmailResponseRejectedKeywords", {"from": str})


@final
class GetEmailResponseRejected(_GetEmailResponseRejectedKeywords):
    """A stored email. In JSON its own timestamps are camelCase (`createdAt`), unlike those of all other messages.
    `from`: Sender, as given in the request.
    """

    message_id: str
    """Identifier of the message: `msg_` and 26 characters."""
    status: Literal["rejected"]
    """Terminal state of the message."""
    reason: RejectionReason
    """Reason of the first recipient with this `status`. Present when `status` is `bounced` or `rejected`."""
    to: list[str]
    """The recipients of `to`, each `ann@example.com` or `Ann <ann@example.com>`, with its domain as A-labels."""
    reply_to: NotRequired[str]
    """Reply-To. Several addresses are separated by commas, as in the header of the message."""
    subject: str
    """Subject."""
    headers: dict[str, str]
    """Custom headers."""
    tenant_id: NotRequired[str]
    """Tenant given with the send."""
    sandbox: bool
    """True when this was a dry run."""
    size_bytes: int
    """Size of the message as sent over SMTP, headers included, in bytes. 0 when no message was built, or the service
    stopped during the send.
    """
    attachments: list[StoredAttachment]
    """The attachments, without their content."""
    recipients: list[RecipientOutcome]
    """Outcome and evidence of each recipient."""
    events: list[EmailEvent]
    """The events of the outcomes, one for each recipient. The events of `feedback` are in the list of events."""
    createdAt: str
    """When the send was accepted."""
    completedAt: str
    """When the outcome was recorded."""
    expiresAt: str
    """When the stored email is deleted: 90 days after `createdAt`."""
    html: NotRequired[str]
    """HTML body. Kept only when the operator stores content."""
    text: NotRequired[str]
    """Plain-text body. Kept only when the operator stores content."""
    feedback: list[Feedback]
    """Bounces and complaints that came later, oldest first."""
    cc: NotRequired[list[str]]
    """The recipients of `cc`, in the format of `to`."""
    bcc: NotRequired[list[str]]
    """The recipients of `bcc`, in the format of `to`."""
    metadata: NotRequired[dict[str, str]]
    """Metadata given with the send."""
    tag: NotRequired[str]
    """Tag given with the send."""
    retry_of: NotRequired[str]
    """`message_id` of the message that this one retries, as given with the send."""
    retried_by: NotRequired[list[str]]
    """`message_id` of the messages that retry recipients of this one, oldest first. A send that is still running is
    among them.
    """
    auto_text: NotRequired[bool]
    """True when the plain-text body was to be made from the HTML."""
    raw: NotRequired[bool]
    """True when the message was given whole, as `raw`. `subject`, `attachments` and the bodies are then read from
    it.
    """


GetEmailResponse = GetEmailResponseDelivered | GetEmailResponseBounced | GetEmailResponseRejected
"""A stored email. In JSON its own timestamps are camelCase (`createdAt`), unlike those of all other messages."""


class StoredAttachment(TypedDict):
    """An attachment of a stored email. Its content is not kept."""

    filename: str
    """File name."""
    content_type: str
    """Media type, with the parameters that it was given."""
    size_bytes: int
    """Size of the decoded content, in bytes."""
    content_id: NotRequired[str]
    """The id by which the HTML refers to the file. Absent for a file that is attached."""


class EmailEvent(TypedDict):
    """The event of one recipient, as Get email lists it."""

    event_id: str
    """Identifier of the event: `evt_` and 26 characters."""
    status: DeliveryStatus
    """Terminal state that the event reports."""
    recipient: str
    """Address of the recipient."""
    timestamp: str
    """When the outcome was recorded."""


class Feedback(TypedDict):
    """A report that came back after the outcome. It never changes the outcome. A recipient has at most one report of
    each kind.
    """

    kind: FeedbackKind
    """Kind of report."""
    reason: NotRequired[Reason]
    """Reason of the bounce, as far as the report says it. Absent for a complaint."""
    reported_at: str
    """When the service received the report."""
    recipient: str
    """Address of the recipient that the report is about."""
    detail: NotRequired[str]
    """Text from the report: the mail server's reply for a bounce, the type of complaint for a complaint."""
    member: NotRequired[bool]
    """True when a mailbox other than the recipient's failed, such as a member of a list or alias. Such a failure
    says nothing of the recipient and never suppresses it.
    """
    evidence: NotRequired[Evidence]
    """How the report was read. Absent for a report that an earlier version stored."""


class Evidence(TypedDict):
    """What an entry of the suppression list, or a later report, rests on."""

    kind: NotRequired[EvidenceKind]
    """What it says against the address. Absent when it says nothing against it."""
    decided_by: NotRequired[DecidedBy]
    """What decided. Absent when nothing could be read."""
    words: NotRequired[str]
    """The phrase that decided, as the reply or report has it. Present when words decided."""
    code: NotRequired[int]
    """SMTP reply code. Absent when no reply is quoted."""
    enhanced: NotRequired[str]
    """Enhanced status code (RFC 3463), such as `5.1.1`."""
    reply: NotRequired[str]
    """Text of the reply in one line, at most 1,024 bytes. Absent when no reply is quoted."""
    read_as: NotRequired[str]
    """How the service read it: see `SmtpEvidence`."""
    phase: NotRequired[SmtpPhase]
    """Phase that the reply belongs to, `late` for a report. Absent for a complaint."""
    last_delivered_at: NotRequired[str]
    """When the account last delivered an email to the address, in the 90 days before. Absent when it did not."""


EvidenceKind = Literal["complaint", "unknown", "status", "refused", "full"]
"""What a reply or report says against an address. The kind, and what was delivered before, decide how many replies
or reports suppress the address, and for how long.

- `complaint`: The recipient complained.
- `unknown`: Without doubt there is no such mailbox or user.
- `status`: The status code says that there is no such mailbox or user, and the service does not know the words
  beside it.
- `refused`: The mailbox does not take mail, and may exist.
- `full`: The mailbox has no space.
"""


class ListRefusedSendsResponse(TypedDict):
    """One page of refused sends."""

    refused_sends: list[RefusedSend]
    """The refused sends, newest first."""
    not_stored: int
    """How many entries of the account's last 7 days were not stored, because there were too many or the database did
    not take them. Filters do not change it.
    """
    next_cursor: NotRequired[str]
    """Cursor of the next page. Absent on the last page."""
    has_more: bool
    """True when there is a next page."""


_RefusedSendKeywords = TypedDict("_RefusedSendKeywords", {"from": NotRequired[str]})


class RefusedSend(_RefusedSendKeywords):
    """A send that ended with an error before there was an email, or several equal ones of a minute.
    `from`: Address of the sender, where it could be read.
    """

    request_id: str
    """The id of the request, as in its response. For a message of a batch it is that of the batch. A program over
    SMTP does not get it.
    """
    at: str
    """When the send was refused."""
    status: int
    """The status that the error has on REST, whatever protocol the caller spoke."""
    error: ErrorReason
    """The error."""
    message: str
    """What the error says, without values of the request."""
    fields: list[str]
    """The faulty fields of the request, without their places in lists. Fields that do not exist are not among them."""
    recipients: list[str]
    """Addresses of the recipients, where they could be read: the first 50. Empty when the body was not read."""
    key_id: NotRequired[str]
    """Id of the API key."""
    protocol: str
    """How the request came: `rest`, `grpc`, `grpc-web`, `connect`, `smtp` or `lmtp`."""
    count: int
    """How many equal sends were refused within a minute of this one, which was the first."""


class GetReceiptResponse(TypedDict):
    """A signed receipt."""

    receipt: str
    """JSON Web Signature in its compact form (RFC 7515). Its header has `alg` `EdDSA`, `typ` `verdict-receipt+jwt`,
    and in `kid` the id of the key that signed.

    Its claims are: `iss`, the public URL of this service; `sub`, the `message_id`; `iat`, when the receipt was
    signed; `from_domain`, the domain of the sender; `created_at`, when the send was accepted; `digest`,
    `sha-256:` and the SHA-256 in hex of the message as it went out, absent when nothing went out; `sandbox`, true
    for a dry run; and `recipients`, a list with the `email`, `kind` and `status` of each recipient, `at`, when
    its outcome was recorded, and where they apply `reason`, `in_doubt`, `mx`, `ip`, `code`, `enhanced`, `reply`
    and `tls`. They mean the same as in Get email.
    """


class ListEventsResponse(TypedDict):
    """One page of events."""

    events: list[Event]
    """The events, newest `timestamp` first; events of the same millisecond are ordered by id. An event never changes
    its place in the list. A search stops after a second: where filters find few of very many events, a page has
    fewer than `limit`, or none, and `next_cursor` goes on.
    """
    next_cursor: NotRequired[str]
    """Cursor of the next page. Absent on the last page."""
    has_more: bool
    """True when there is a next page."""


@final
class EventDelivered(TypedDict):
    """An event: the terminal state of one recipient of a message, or a later report about that recipient."""

    event_id: str
    """Identifier of the event: `evt_` and 26 characters."""
    message_id: str
    """Identifier of the message."""
    status: Literal["delivered"]
    """Terminal state of the recipient."""
    timestamp: str
    """When the outcome was recorded."""
    recipient: str
    """Address of the recipient."""
    tenant_id: NotRequired[str]
    """Tenant given with the send."""
    sandbox: bool
    """True when the event comes from a dry run."""
    attempts: int
    """Number of attempts made to push the event to the webhook endpoints, including those of replays."""
    acknowledged_at: NotRequired[str]
    """When the last of the endpoints first acknowledged the event: of each endpoint that exists and that the event
    was dispatched to, its first acknowledgement counts. Absent until all of them have acknowledged it.
    """
    event: Literal["email.delivery"]
    """Kind of event: `email.delivery` for an outcome, `email.feedback` for a later report about it."""
    kind: RecipientKind
    """Field of the request that the recipient was given in."""
    tag: NotRequired[str]
    """Tag given with the send."""
    metadata: NotRequired[dict[str, str]]
    """Metadata given with the send."""
    smtp: NotRequired[SmtpEvidence]
    """Evidence for the outcome. Absent when neither a server nor its DNS was asked. Of a feedback event, what the
    report quotes and how it was read: `code`, `enhanced`, `reply`, `decided_by` and `words`, with the phase
    `late`.
    """
    next_attempt_at: NotRequired[str]
    """When the next attempt to push the event is due, the earliest one of its dispatches. In the past while that
    attempt is running. Absent when no attempt follows.
    """
    member: NotRequired[bool]
    """True for a feedback event about another mailbox than that of the recipient: see `Feedback`."""
    last_status_code: NotRequired[int]
    """HTTP status of the newest response of an endpoint that has not acknowledged the event. Absent when all have,
    or when the newest attempt got no response.
    """
    last_detail: NotRequired[str]
    """What happened to the newest attempt at an endpoint that has not acknowledged the event, and what to look at."""
    subject: NotRequired[str]
    """Subject of the message. Absent when the message is beyond its retention, and in streams of events, which would
    have to read the content of each message for it.
    """


@final
class EventBounced(TypedDict):
    """An event: the terminal state of one recipient of a message, or a later report about that recipient."""

    event_id: str
    """Identifier of the event: `evt_` and 26 characters."""
    message_id: str
    """Identifier of the message."""
    status: Literal["bounced"]
    """Terminal state of the recipient."""
    timestamp: str
    """When the outcome was recorded."""
    reason: BounceReason
    """Reason of the outcome. Present when `status` is `bounced` or `rejected`. For a feedback event, the reason that
    the report gives.
    """
    recipient: str
    """Address of the recipient."""
    tenant_id: NotRequired[str]
    """Tenant given with the send."""
    sandbox: bool
    """True when the event comes from a dry run."""
    attempts: int
    """Number of attempts made to push the event to the webhook endpoints, including those of replays."""
    acknowledged_at: NotRequired[str]
    """When the last of the endpoints first acknowledged the event: of each endpoint that exists and that the event
    was dispatched to, its first acknowledgement counts. Absent until all of them have acknowledged it.
    """
    event: Literal["email.delivery"]
    """Kind of event: `email.delivery` for an outcome, `email.feedback` for a later report about it."""
    kind: RecipientKind
    """Field of the request that the recipient was given in."""
    detail: NotRequired[str]
    """Text of the report: the mail server's reply for a late bounce, the type of complaint for a complaint. Of a
    delivery event: the fault of this service that kept the recipient from being tried.
    """
    tag: NotRequired[str]
    """Tag given with the send."""
    metadata: NotRequired[dict[str, str]]
    """Metadata given with the send."""
    smtp: NotRequired[SmtpEvidence]
    """Evidence for the outcome. Absent when neither a server nor its DNS was asked. Of a feedback event, what the
    report quotes and how it was read: `code`, `enhanced`, `reply`, `decided_by` and `words`, with the phase
    `late`.
    """
    retryable: NotRequired[bool]
    """True when you may send the message again as a new send: see `RecipientOutcome`."""
    in_doubt: NotRequired[bool]
    """True when the reply to the final dot was lost: the message may or may not have arrived."""
    next_attempt_at: NotRequired[str]
    """When the next attempt to push the event is due, the earliest one of its dispatches. In the past while that
    attempt is running. Absent when no attempt follows.
    """
    member: NotRequired[bool]
    """True for a feedback event about another mailbox than that of the recipient: see `Feedback`."""
    last_status_code: NotRequired[int]
    """HTTP status of the newest response of an endpoint that has not acknowledged the event. Absent when all have,
    or when the newest attempt got no response.
    """
    last_detail: NotRequired[str]
    """What happened to the newest attempt at an endpoint that has not acknowledged the event, and what to look at."""
    subject: NotRequired[str]
    """Subject of the message. Absent when the message is beyond its retention, and in streams of events, which would
    have to read the content of each message for it.
    """


@final
class EventRejected(TypedDict):
    """An event: the terminal state of one recipient of a message, or a later report about that recipient."""

    event_id: str
    """Identifier of the event: `evt_` and 26 characters."""
    message_id: str
    """Identifier of the message."""
    status: Literal["rejected"]
    """Terminal state of the recipient."""
    timestamp: str
    """When the outcome was recorded."""
    reason: RejectionReason
    """Reason of the outcome. Present when `status` is `bounced` or `rejected`. For a feedback event, the reason that
    the report gives.
    """
    recipient: str
    """Address of the recipient."""
    tenant_id: NotRequired[str]
    """Tenant given with the send."""
    sandbox: bool
    """True when the event comes from a dry run."""
    attempts: int
    """Number of attempts made to push the event to the webhook endpoints, including those of replays."""
    acknowledged_at: NotRequired[str]
    """When the last of the endpoints first acknowledged the event: of each endpoint that exists and that the event
    was dispatched to, its first acknowledgement counts. Absent until all of them have acknowledged it.
    """
    event: Literal["email.delivery"]
    """Kind of event: `email.delivery` for an outcome, `email.feedback` for a later report about it."""
    kind: RecipientKind
    """Field of the request that the recipient was given in."""
    detail: NotRequired[str]
    """Text of the report: the mail server's reply for a late bounce, the type of complaint for a complaint. Of a
    delivery event: the fault of this service that kept the recipient from being tried.
    """
    tag: NotRequired[str]
    """Tag given with the send."""
    metadata: NotRequired[dict[str, str]]
    """Metadata given with the send."""
    smtp: NotRequired[SmtpEvidence]
    """Evidence for the outcome. Absent when neither a server nor its DNS was asked. Of a feedback event, what the
    report quotes and how it was read: `code`, `enhanced`, `reply`, `decided_by` and `words`, with the phase
    `late`.
    """
    next_attempt_at: NotRequired[str]
    """When the next attempt to push the event is due, the earliest one of its dispatches. In the past while that
    attempt is running. Absent when no attempt follows.
    """
    member: NotRequired[bool]
    """True for a feedback event about another mailbox than that of the recipient: see `Feedback`."""
    last_status_code: NotRequired[int]
    """HTTP status of the newest response of an endpoint that has not acknowledged the event. Absent when all have,
    or when the newest attempt got no response.
    """
    last_detail: NotRequired[str]
    """What happened to the newest attempt at an endpoint that has not acknowledged the event, and what to look at."""
    subject: NotRequired[str]
    """Subject of the message. Absent when the message is beyond its retention, and in streams of events, which would
    have to read the content of each message for it.
    """


@final
class EventFeedback(TypedDict):
    """An event: the terminal state of one recipient of a message, or a later report about that recipient."""

    event_id: str
    """Identifier of the event: `evt_` and 26 characters."""
    message_id: str
    """Identifier of the message."""
    status: DeliveryStatus
    """Terminal state of the recipient."""
    timestamp: str
    """When the outcome was recorded."""
    reason: NotRequired[Reason]
    """Reason of the outcome. Present when `status` is `bounced` or `rejected`. For a feedback event, the reason that
    the report gives.
    """
    recipient: str
    """Address of the recipient."""
    tenant_id: NotRequired[str]
    """Tenant given with the send."""
    sandbox: bool
    """True when the event comes from a dry run."""
    attempts: int
    """Number of attempts made to push the event to the webhook endpoints, including those of replays."""
    acknowledged_at: NotRequired[str]
    """When the last of the endpoints first acknowledged the event: of each endpoint that exists and that the event
    was dispatched to, its first acknowledgement counts. Absent until all of them have acknowledged it.
    """
    event: Literal["email.feedback"]
    """Kind of event: `email.delivery` for an outcome, `email.feedback` for a later report about it."""
    kind: RecipientKind
    """Field of the request that the recipient was given in."""
    feedback: FeedbackKind
    """What a feedback event reports. Absent for a delivery event."""
    detail: NotRequired[str]
    """Text of the report: the mail server's reply for a late bounce, the type of complaint for a complaint. Of a
    delivery event: the fault of this service that kept the recipient from being tried.
    """
    tag: NotRequired[str]
    """Tag given with the send."""
    metadata: NotRequired[dict[str, str]]
    """Metadata given with the send."""
    next_attempt_at: NotRequired[str]
    """When the next attempt to push the event is due, the earliest one of its dispatches. In the past while that
    attempt is running. Absent when no attempt follows.
    """
    member: NotRequired[bool]
    """True for a feedback event about another mailbox than that of the recipient: see `Feedback`."""
    last_status_code: NotRequired[int]
    """HTTP status of the newest response of an endpoint that has not acknowledged the event. Absent when all have,
    or when the newest attempt got no response.
    """
    last_detail: NotRequired[str]
    """What happened to the newest attempt at an endpoint that has not acknowledged the event, and what to look at."""
    subject: NotRequired[str]
    """Subject of the message. Absent when the message is beyond its retention, and in streams of events, which would
    have to read the content of each message for it.
    """


Event = EventDelivered | EventBounced | EventRejected | EventFeedback
"""An event: the terminal state of one recipient of a message, or a later report about that recipient."""


@final
class GetEventResponseDelivered(TypedDict):
    """One event and its dispatches to the webhook endpoints."""

    event_id: str
    """Identifier of the event: `evt_` and 26 characters."""
    message_id: str
    """Identifier of the message."""
    status: Literal["delivered"]
    """Terminal state of the recipient."""
    timestamp: str
    """When the outcome was recorded."""
    recipient: str
    """Address of the recipient."""
    tenant_id: NotRequired[str]
    """Tenant given with the send."""
    sandbox: bool
    """True when the event comes from a dry run. Only a replay sends such an event to an endpoint."""
    attempts: int
    """Number of attempts made to push the event to the webhook endpoints, including those of replays."""
    acknowledged_at: NotRequired[str]
    """When the last of the endpoints first acknowledged the event: of each endpoint that exists and that the event
    was dispatched to, its first acknowledgement counts. Absent until all of them have acknowledged it.
    """
    dispatches: list[Dispatch]
    """Every run of the retry schedule for this event, oldest first: the original one of each endpoint and the newest
    100 replays. Empty when the event was never replayed and had no original dispatch, because no endpoint was
    enabled and asked for such events, or the event comes from a dry run.
    """
    event: Literal["email.delivery"]
    """Kind of event: `email.delivery` for an outcome, `email.feedback` for a later report about it."""
    kind: RecipientKind
    """Field of the request that the recipient was given in."""
    tag: NotRequired[str]
    """Tag given with the send."""
    metadata: NotRequired[dict[str, str]]
    """Metadata given with the send."""
    smtp: NotRequired[SmtpEvidence]
    """Evidence for the outcome. Absent when neither a server nor its DNS was asked, and for a feedback event."""
    next_attempt_at: NotRequired[str]
    """When the next attempt to push the event is due, the earliest one of its dispatches. In the past while that
    attempt is running. Absent when no attempt follows.
    """
    last_status_code: NotRequired[int]
    """HTTP status of the newest response of an endpoint that has not acknowledged the event. Absent when all have,
    or when the newest attempt got no response.
    """
    last_detail: NotRequired[str]
    """What happened to the newest attempt at an endpoint that has not acknowledged the event, and what to look at."""
    subject: NotRequired[str]
    """Subject of the message. Absent when the message is beyond its retention."""


@final
class GetEventResponseBounced(TypedDict):
    """One event and its dispatches to the webhook endpoints."""

    event_id: str
    """Identifier of the event: `evt_` and 26 characters."""
    message_id: str
    """Identifier of the message."""
    status: Literal["bounced"]
    """Terminal state of the recipient."""
    timestamp: str
    """When the outcome was recorded."""
    reason: BounceReason
    """Reason of the outcome. Present when `status` is `bounced` or `rejected`. For a feedback event, the reason that
    the report gives.
    """
    recipient: str
    """Address of the recipient."""
    tenant_id: NotRequired[str]
    """Tenant given with the send."""
    sandbox: bool
    """True when the event comes from a dry run. Only a replay sends such an event to an endpoint."""
    attempts: int
    """Number of attempts made to push the event to the webhook endpoints, including those of replays."""
    acknowledged_at: NotRequired[str]
    """When the last of the endpoints first acknowledged the event: of each endpoint that exists and that the event
    was dispatched to, its first acknowledgement counts. Absent until all of them have acknowledged it.
    """
    dispatches: list[Dispatch]
    """Every run of the retry schedule for this event, oldest first: the original one of each endpoint and the newest
    100 replays. Empty when the event was never replayed and had no original dispatch, because no endpoint was
    enabled and asked for such events, or the event comes from a dry run.
    """
    event: Literal["email.delivery"]
    """Kind of event: `email.delivery` for an outcome, `email.feedback` for a later report about it."""
    kind: RecipientKind
    """Field of the request that the recipient was given in."""
    detail: NotRequired[str]
    """Text of the report: the mail server's reply for a late bounce, the type of complaint for a complaint. Of a
    delivery event: the fault of this service that kept the recipient from being tried.
    """
    tag: NotRequired[str]
    """Tag given with the send."""
    metadata: NotRequired[dict[str, str]]
    """Metadata given with the send."""
    smtp: NotRequired[SmtpEvidence]
    """Evidence for the outcome. Absent when neither a server nor its DNS was asked, and for a feedback event."""
    retryable: NotRequired[bool]
    """True when you may send the message again as a new send: see `RecipientOutcome`."""
    in_doubt: NotRequired[bool]
    """True when the reply to the final dot was lost: the message may or may not have arrived."""
    next_attempt_at: NotRequired[str]
    """When the next attempt to push the event is due, the earliest one of its dispatches. In the past while that
    attempt is running. Absent when no attempt follows.
    """
    last_status_code: NotRequired[int]
    """HTTP status of the newest response of an endpoint that has not acknowledged the event. Absent when all have,
    or when the newest attempt got no response.
    """
    last_detail: NotRequired[str]
    """What happened to the newest attempt at an endpoint that has not acknowledged the event, and what to look at."""
    subject: NotRequired[str]
    """Subject of the message. Absent when the message is beyond its retention."""


@final
class GetEventResponseRejected(TypedDict):
    """One event and its dispatches to the webhook endpoints."""

    event_id: str
    """Identifier of the event: `evt_` and 26 characters."""
    message_id: str
    """Identifier of the message."""
    status: Literal["rejected"]
    """Terminal state of the recipient."""
    timestamp: str
    """When the outcome was recorded."""
    reason: RejectionReason
    """Reason of the outcome. Present when `status` is `bounced` or `rejected`. For a feedback event, the reason that
    the report gives.
    """
    recipient: str
    """Address of the recipient."""
    tenant_id: NotRequired[str]
    """Tenant given with the send."""
    sandbox: bool
    """True when the event comes from a dry run. Only a replay sends such an event to an endpoint."""
    attempts: int
    """Number of attempts made to push the event to the webhook endpoints, including those of replays."""
    acknowledged_at: NotRequired[str]
    """When the last of the endpoints first acknowledged the event: of each endpoint that exists and that the event
    was dispatched to, its first acknowledgement counts. Absent until all of them have acknowledged it.
    """
    dispatches: list[Dispatch]
    """Every run of the retry schedule for this event, oldest first: the original one of each endpoint and the newest
    100 replays. Empty when the event was never replayed and had no original dispatch, because no endpoint was
    enabled and asked for such events, or the event comes from a dry run.
    """
    event: Literal["email.delivery"]
    """Kind of event: `email.delivery` for an outcome, `email.feedback` for a later report about it."""
    kind: RecipientKind
    """Field of the request that the recipient was given in."""
    detail: NotRequired[str]
    """Text of the report: the mail server's reply for a late bounce, the type of complaint for a complaint. Of a
    delivery event: the fault of this service that kept the recipient from being tried.
    """
    tag: NotRequired[str]
    """Tag given with the send."""
    metadata: NotRequired[dict[str, str]]
    """Metadata given with the send."""
    smtp: NotRequired[SmtpEvidence]
    """Evidence for the outcome. Absent when neither a server nor its DNS was asked, and for a feedback event."""
    next_attempt_at: NotRequired[str]
    """When the next attempt to push the event is due, the earliest one of its dispatches. In the past while that
    attempt is running. Absent when no attempt follows.
    """
    last_status_code: NotRequired[int]
    """HTTP status of the newest response of an endpoint that has not acknowledged the event. Absent when all have,
    or when the newest attempt got no response.
    """
    last_detail: NotRequired[str]
    """What happened to the newest attempt at an endpoint that has not acknowledged the event, and what to look at."""
    subject: NotRequired[str]
    """Subject of the message. Absent when the message is beyond its retention."""


@final
class GetEventResponseFeedback(TypedDict):
    """One event and its dispatches to the webhook endpoints."""

    event_id: str
    """Identifier of the event: `evt_` and 26 characters."""
    message_id: str
    """Identifier of the message."""
    status: DeliveryStatus
    """Terminal state of the recipient."""
    timestamp: str
    """When the outcome was recorded."""
    reason: NotRequired[Reason]
    """Reason of the outcome. Present when `status` is `bounced` or `rejected`. For a feedback event, the reason that
    the report gives.
    """
    recipient: str
    """Address of the recipient."""
    tenant_id: NotRequired[str]
    """Tenant given with the send."""
    sandbox: bool
    """True when the event comes from a dry run. Only a replay sends such an event to an endpoint."""
    attempts: int
    """Number of attempts made to push the event to the webhook endpoints, including those of replays."""
    acknowledged_at: NotRequired[str]
    """When the last of the endpoints first acknowledged the event: of each endpoint that exists and that the event
    was dispatched to, its first acknowledgement counts. Absent until all of them have acknowledged it.
    """
    dispatches: list[Dispatch]
    """Every run of the retry schedule for this event, oldest first: the original one of each endpoint and the newest
    100 replays. Empty when the event was never replayed and had no original dispatch, because no endpoint was
    enabled and asked for such events, or the event comes from a dry run.
    """
    event: Literal["email.feedback"]
    """Kind of event: `email.delivery` for an outcome, `email.feedback` for a later report about it."""
    kind: RecipientKind
    """Field of the request that the recipient was given in."""
    feedback: FeedbackKind
    """What a feedback event reports. Absent for a delivery event."""
    detail: NotRequired[str]
    """Text of the report: the mail server's reply for a late bounce, the type of complaint for a complaint. Of a
    delivery event: the fault of this service that kept the recipient from being tried.
    """
    tag: NotRequired[str]
    """Tag given with the send."""
    metadata: NotRequired[dict[str, str]]
    """Metadata given with the send."""
    next_attempt_at: NotRequired[str]
    """When the next attempt to push the event is due, the earliest one of its dispatches. In the past while that
    attempt is running. Absent when no attempt follows.
    """
    last_status_code: NotRequired[int]
    """HTTP status of the newest response of an endpoint that has not acknowledged the event. Absent when all have,
    or when the newest attempt got no response.
    """
    last_detail: NotRequired[str]
    """What happened to the newest attempt at an endpoint that has not acknowledged the event, and what to look at."""
    subject: NotRequired[str]
    """Subject of the message. Absent when the message is beyond its retention."""


GetEventResponse = (
    GetEventResponseDelivered
    | GetEventResponseBounced
    | GetEventResponseRejected
    | GetEventResponseFeedback
)
"""One event and its dispatches to the webhook endpoints."""


class Dispatch(TypedDict):
    """One run of the retry schedule for one event and one endpoint: up to six attempts, until the endpoint responds
    with 200. When each of them fails at once, the last one is made after 7.5 hours. No attempt starts later than
    24 hours after the event.
    """

    dispatch_id: str
    """Identifier of the dispatch: `dsp_` and 26 characters. Its requests carry it in the header
    `Service-Dispatch-Id`.
    """
    kind: DispatchKind
    """What created the dispatch."""
    state: DispatchState
    """Current state of the dispatch."""
    created_at: str
    """When the dispatch was created."""
    ended_at: NotRequired[str]
    """When the dispatch ended. Absent while it is `waiting`."""
    workflow_id: NotRequired[str]
    """Identifier of the Temporal workflow that makes its attempts. Absent until a workflow is needed; the first
    attempt usually needs none.
    """
    workflow_url: NotRequired[str]
    """Link to that workflow in the Temporal UI. Absent when the operator has not configured where the UI is, and
    when Temporal no longer has the workflow.
    """
    next_attempt_at: NotRequired[str]
    """When the next attempt is due. Absent while an attempt is running, and when no attempt follows."""
    attempts: list[Attempt]
    """The finished attempts, in order."""
    endpoint_id: str
    """Identifier of the endpoint that the event is pushed to: `whk_` and 26 characters. It may have been deleted
    since.
    """
    workflow_kept_until: NotRequired[str]
    """Until when Temporal keeps that workflow. Absent while the workflow runs, and when Temporal does not say."""


DispatchKind = Literal["original", "replay"]
"""What created a dispatch.

- `original`: Created together with the event.
- `replay`: Created by a replay.
"""


DispatchState = Literal["waiting", "acknowledged", "exhausted", "cancelled"]
"""State of a dispatch.

- `waiting`: An attempt is running, or the next one is due later.
- `acknowledged`: The endpoint responded with 200.
- `exhausted`: The last attempt failed, or 24 hours have passed. Replay the event to try again.
- `cancelled`: The endpoint was deleted, or an operator cancelled the workflow.
"""


class Attempt(TypedDict):
    """One POST of an event to the endpoint."""

    number: int
    """Number of the attempt within its dispatch, starting at 1. Its request carries it in the header
    `Service-Attempt`. An attempt whose outcome is `unknown` is repeated under the same number.
    """
    started_at: str
    """When the attempt started."""
    finished_at: NotRequired[str]
    """When the attempt finished. Absent when its outcome is `unknown`."""
    outcome: AttemptOutcome
    """Outcome of the attempt."""
    status_code: NotRequired[int]
    """HTTP status code of the response. Absent when there was none."""
    duration_ms: NotRequired[int]
    """Duration of the attempt, in milliseconds."""
    phases: NotRequired[AttemptPhases]
    """Duration of each phase of the attempt."""
    response_excerpt: NotRequired[str]
    """Beginning of the response's body, at most 1,024 bytes."""
    response_cut: NotRequired[bool]
    """True when the body is longer than the excerpt."""
    detail: NotRequired[str]
    """What happened, and the cause if it is known. Absent when the outcome is `acked`."""
    request: NotRequired[AttemptRequest]
    """What the attempt posted, or would have posted if it had got a connection. Absent when the outcome is
    `unknown`, and when the rows of the event are no longer stored.
    """


AttemptOutcome = Literal[
    "acked",
    "dns",
    "blocked",
    "tls",
    "connect",
    "timeout_head",
    "timeout_body",
    "not_200",
    "success_but_not_200",
    "unknown",
]
"""Outcome of one attempt.

- `acked`: The endpoint responded with 200: it has the event.
- `dns`: The name of the endpoint's host was not found.
- `blocked`: The endpoint's URL or address is not allowed, for example because the address is not public.
- `tls`: TLS failed. `detail` says why, if the cause is known: for example a certificate that is not valid for the
  host.
- `connect`: No connection was made, it broke before the response, or the response was not HTTP.
- `timeout_head`: The status line and headers of the response did not arrive in time.
- `timeout_body`: The response was not 200, and its body did not end in time.
- `not_200`: The response had a status outside of 200 to 299: a redirect, a refusal or a server error.
- `success_but_not_200`: The response had a status of 201 to 299, such as 204. Only 200 acknowledges an event.
- `unknown`: The service stopped during the attempt. The endpoint may or may not have the event, and receives it
  again.
"""


class AttemptPhases(TypedDict):
    """Duration of each phase of an attempt, in milliseconds, to a tenth. A phase is absent when the attempt did not
    reach it, or did not need it because a connection was already open.
    """

    dns_ms: NotRequired[float]
    """Resolving the host name."""
    connect_ms: NotRequired[float]
    """Opening the TCP connection."""
    tls_ms: NotRequired[float]
    """TLS handshake."""
    head_ms: NotRequired[float]
    """Sending the request and waiting for the headers of the response."""
    body_ms: NotRequired[float]
    """Reading the body of the response."""


class AttemptRequest(TypedDict):
    """The request of one attempt. An address that was erased since is erased here too."""

    url: NotRequired[str]
    """URL that the attempt was posted to. The values of its query are masked. Absent without the scope
    `webhooks.read`, and when the URL was replaced more than 90 days ago.
    """
    headers: dict[str, str]
    """Headers of the request. Signatures are shown as `(signed)`. The headers of the connection and of a trace, and
    the signature of a previous secret, are left out.
    """
    body: str
    """Body of the request: the exact text that was signed."""


class ListChangesResponse(TypedDict):
    """The events after a position."""

    events: list[EventChange]
    """The events, oldest first."""
    position: str
    """Where to resume, at most 100 characters. It may be after the last event: events that do not match are skipped."""
    has_more: bool
    """True when more events may be there already: call again at once."""


class EventChange(TypedDict):
    """An event and the position after it."""

    event: NotRequired[Event]
    """The event. Its attempts are those at the time of this response."""
    position: str
    """Where to resume after this event, at most 100 characters."""


class ReplayEventRequest(TypedDict):
    """The event to replay."""

    endpoint_id: NotRequired[str | None]
    """The only endpoint to send it to, also when the endpoint does not ask for it or is disabled."""


class ReplayEventResponse(TypedDict):
    """An accepted replay."""

    replayed: bool
    """Always true."""
    event_id: str
    """Identifier of the event."""
    message_id: str
    """Identifier of the message."""
    dispatched_at: str
    """When the replay was accepted. Its first attempt follows immediately."""
    dispatch_id: str
    """Identifier of the new dispatch to the oldest endpoint, as listed in `dispatches` of the event."""
    dispatches: list[ReplayedDispatch]
    """The new dispatches, one for each endpoint, the oldest endpoint first."""


class ReplayedDispatch(TypedDict):
    """A dispatch that a replay created."""

    dispatch_id: str
    """Identifier of the dispatch, as listed in `dispatches` of the event."""
    endpoint_id: str
    """Identifier of its endpoint."""


class ReplayMessageRequest(TypedDict):
    """The message whose events to replay."""

    endpoint_id: NotRequired[str | None]
    """The only endpoint to send its events to, also when the endpoint does not ask for them or is disabled."""


class ReplayMessageResponse(TypedDict):
    """The accepted replays."""

    replayed: bool
    """Always true."""
    message_id: str
    """Identifier of the message."""
    count: int
    """Number of replayed events."""
    events: list[ReplayEventResponse]
    """The replayed events: outcomes in the order of the message's recipients, then feedback, oldest first."""


class ListEndpointsResponse(TypedDict):
    """The account's endpoints."""

    endpoints: list[Endpoint]
    """The endpoints, the oldest first."""


class Endpoint(TypedDict):
    """A webhook endpoint. The service pushes the events to it that match every filter. It stores all events, and you
    can replay those that were not pushed.
    """

    endpoint_id: str
    """Identifier of the endpoint: `whk_` and 26 characters."""
    url: str
    """URL that receives events."""
    description: NotRequired[str]
    """Your note on the endpoint. Absent when there is none."""
    events: list[str]
    """Kinds of events that are pushed."""
    statuses: list[DeliveryStatus]
    """Statuses of the events that are pushed."""
    tags: NotRequired[list[str]]
    """Tags of the sends whose events are pushed. Absent without this filter."""
    tenant_ids: NotRequired[list[str]]
    """Tenants of the sends whose events are pushed. Absent without this filter."""
    domains: NotRequired[list[str]]
    """Domains of From of the sends whose events are pushed. Absent without this filter."""
    disabled: bool
    """True when no events are pushed that are stored from then on."""
    first: bool
    """True for the endpoint of `/api/v1/webhook`."""
    created_at: str
    """When the endpoint was added."""
    updated_at: str
    """When a field or the secret last changed."""
    secret: NotRequired[str]
    """Secret that signs requests: `whsec_` and base64. Present only in the response of the call that created it."""
    previous_secret_until: NotRequired[str]
    """Until when requests are also signed with the previous secret. Absent when there is none."""
    health: NotRequired[WebhookHealth]
    """Health of the endpoint."""


class WebhookHealth(TypedDict):
    """Health of an endpoint. An endpoint that fails is never switched off."""

    acknowledged: int
    """Attempts acknowledged in the current hour and the 23 hours before it."""
    failed: int
    """Attempts that failed in the same time."""
    success_rate: float | None
    """Fraction of attempts that were acknowledged, 0 to 1. `null` when there were none."""
    last_success_at: NotRequired[str]
    """When an attempt was last acknowledged."""
    last_failure_at: NotRequired[str]
    """When an attempt last failed."""
    consecutive_failures: int
    """Attempts that failed since the last acknowledged one."""
    waiting: int
    """Dispatches that wait for an attempt. A new event counts when its first attempt has failed or was lost."""
    oldest_waiting_at: NotRequired[str]
    """Since when the oldest of these dispatches has waited. Absent when none waits."""


class CreateEndpointRequest(TypedDict):
    """The endpoint to add. The service pushes the events to it that match every filter."""

    url: str
    """URL that receives events, at most 2,048 characters, such as `https://hooks.example.com/email`."""
    description: NotRequired[str | None]
    """Your note on the endpoint, at most 200 characters, such as `warehouse`."""
    events: NotRequired[list[Literal["email.delivery", "email.feedback"]] | None]
    """Kinds of events to push: `email.delivery` for outcomes, `email.feedback` for late bounces and complaints.
    Default: `["email.delivery"]`.
    """
    statuses: NotRequired[list[DeliveryStatus] | None]
    """Push only events with one of these statuses. For feedback, it is the status that the recipient had before.
    Default: all of them.
    """
    tags: NotRequired[list[str] | None]
    """Push only events of sends with one of these tags, at most 20. Default: no filter."""
    tenant_ids: NotRequired[list[str] | None]
    """Push only events of sends with one of these tenants, at most 20. Default: no filter."""
    domains: NotRequired[list[str] | None]
    """Push only events of sends whose From has one of these domains, at most 20. Default: no filter."""
    disabled: NotRequired[bool | None]
    """True to push no event yet: test the endpoint first, then enable it."""


class UpdateEndpointRequest(TypedDict):
    """What to change of an endpoint. Fields that are absent keep their values."""

    url: NotRequired[str | None]
    """URL that receives events."""
    description: NotRequired[str | None]
    """Your note on the endpoint, at most 200 characters. An empty one removes it."""
    events: NotRequired[list[Literal["email.delivery", "email.feedback"]] | None]
    """Kinds of events to push: `email.delivery`, `email.feedback` or both."""
    statuses: NotRequired[list[DeliveryStatus] | None]
    """Push only events with one of these statuses."""
    tags: NotRequired[list[str] | None]
    """Push only events of sends with one of these tags, at most 20. `[]` removes the filter."""
    tenant_ids: NotRequired[list[str] | None]
    """Push only events of sends with one of these tenants, at most 20. `[]` removes the filter."""
    domains: NotRequired[list[str] | None]
    """Push only events of sends whose From has one of these domains, at most 20. `[]` removes the filter."""
    disabled: NotRequired[bool | None]
    """True to push no events that are stored later. Waiting dispatches continue."""


class DeleteEndpointResponse(TypedDict):
    """The response has no fields."""


class TestWebhookResponse(TypedDict):
    """Outcome of a test."""

    event_id: str
    """The `event_id` of the payload, to find the test in the endpoint's log. No stored event has this id."""
    dispatched_at: str
    """When the test was sent."""
    outcome: AttemptOutcome
    """Outcome of the attempt. `acked` means success."""
    status_code: NotRequired[int]
    """HTTP status code of the response. Absent when there was none."""
    duration_ms: int
    """Duration of the attempt, in milliseconds."""
    phases: NotRequired[AttemptPhases]
    """Duration of each phase of the attempt."""
    response_excerpt: NotRequired[str]
    """Beginning of the response's body, at most 1,024 bytes."""
    response_cut: NotRequired[bool]
    """True when the body is longer than the excerpt."""
    detail: NotRequired[str]
    """What the outcome means, in a sentence. Absent when the outcome is `acked`."""


class Webhook(TypedDict):
    """The account's first webhook endpoint."""

    url: str
    """URL that receives events."""
    created_at: str
    """When the endpoint was first set."""
    updated_at: str
    """When the URL, the lists or the secret last changed."""
    secret: NotRequired[str]
    """Secret that signs requests: `whsec_` and base64. Present only in the response of the call that created it."""
    previous_secret_until: NotRequired[str]
    """Until when requests are also signed with the previous secret. Absent when there is none."""
    health: NotRequired[WebhookHealth]
    """Health of the endpoint."""
    events: list[str]
    """Kinds of events that are pushed. All events are stored, and you can replay those that were not pushed."""
    statuses: list[DeliveryStatus]
    """Statuses of the events that are pushed."""
    endpoint_id: str
    """Identifier of the endpoint, as in `/api/v1/webhooks`: `whk_` and 26 characters."""


class PutWebhookRequest(TypedDict):
    """The endpoint to set."""

    url: str
    """URL that receives events, at most 2,048 characters, such as `https://hooks.example.com/email`."""
    events: NotRequired[list[Literal["email.delivery", "email.feedback"]] | None]
    """Kinds of events to push: `email.delivery` for outcomes, `email.feedback` for late bounces and complaints.
    Absent in the first call, it is `["email.delivery"]`; absent in a later one, it stays as it is.
    """
    statuses: NotRequired[list[DeliveryStatus] | None]
    """Push only events with one of these statuses. For feedback, it is the status that the recipient had before.
    Absent in the first call, it is all of them; absent in a later one, it stays as it is.
    """


class DeleteWebhookResponse(TypedDict):
    """The response has no fields."""


class ListDomainsResponse(TypedDict):
    """The account's domains."""

    domains: list[Domain]
    """Domains ordered by name, at most 1,000."""


class Domain(TypedDict):
    """A sending domain."""

    domain_id: str
    """Identifier of the domain: `dom_` and 26 characters."""
    domain: str
    """Name in lower case, with A-labels and without a trailing dot."""
    status: DomainStatus
    """Whether you can send mail from the domain."""
    records: list[DomainRecord]
    """The DNS records to publish."""
    warmup: WarmUp | None
    """Progress of the domain's warm-up. `null` before the domain is verified, and when nothing limits its daily
    volume.
    """
    dkim: NotRequired[Dkim]
    """The DKIM keys of the domain."""
    sending: SendingState
    """What the domain's circuit breaker allows."""
    require_tls: bool
    """True when mail of this domain is sent only over TLS with a valid certificate."""
    created_at: str
    """When the domain was added."""
    verified_at: NotRequired[str]
    """When the domain was verified. A lapsed domain keeps this time."""
    pool: NotRequired[str]
    """Name of the pool of addresses that mail of this domain leaves from. Absent when it was not chosen for this
    domain: then it is that of the account's tier, if any.
    """


DomainStatus = Literal["pending", "verified", "failed", "lapsed"]
"""Whether you can send mail from a domain.

- `pending`: Some required records have not been found yet. Sends from the domain are `rejected` with
  `domain_not_verified`.
- `verified`: All required records were found, which is checked again every day, or the operator vouches for the
  domain.
- `failed`: The records were not found within 14 days. DNS is no longer checked automatically, only by Verify.
- `lapsed`: The domain was verified, and then its records were missing or wrong for three days. Days on which
  servers do not answer do not count against it. Sends from it are `rejected` with `domain_not_verified` until the
  records are found again.
"""


class DomainRecord(TypedDict):
    """A DNS record of a domain, and what DNS contains in its place."""

    record: str
    """Purpose of the record: `SPF` (which addresses may send for the domain), `RETURN_PATH` (where bounces go),
    `DKIM` (the key that verifies signatures) or `DMARC` (what receivers do with mail that fails authentication).
    """
    type: str
    """DNS type: `TXT`, `MX` or `CNAME`."""
    host: str
    """Full name of the record, without a trailing dot. Many DNS providers want it without the domain at its end."""
    value: str
    """Value to publish. For an MX record it is the preference and the host name. Empty when the service cannot
    determine it yet; `error` says why.
    """
    strings: NotRequired[list[str]]
    """The value split into strings of at most 255 bytes, as DNS stores it. Present only when there is more than one.
    Most DNS providers split the value themselves.
    """
    required: bool
    """True when the domain cannot be verified without this record."""
    status: RecordStatus
    """Result of the last check."""
    observed: list[str]
    """What DNS contained when its servers last answered."""
    error: NotRequired[str]
    """What is wrong and what to do about it."""
    last_checked_at: NotRequired[str]
    """When the record was last checked."""


RecordStatus = Literal["pending", "verified", "failed"]
"""Result of the last check of a record.

- `pending`: The record has not been checked yet, or the DNS servers did not answer.
- `verified`: The record is published and does its job.
- `failed`: The record is missing or wrong; `error` says what to do.
"""


class WarmUp(TypedDict):
    """Progress of a domain's warm-up."""

    day: int
    """Day of the warm-up. It is 1 on the UTC day of the verification."""
    daily_limit: int
    """Emails allowed today (UTC)."""
    sent_today: int
    """Emails already let through today."""
    completes_at: str
    """When the warm-up ends. From then on nothing limits the daily volume."""


class Dkim(TypedDict):
    """The DKIM keys of a domain."""

    selector: str
    """Selector of the key that signs mail."""
    key_bits: int
    """Length of that key, in bits."""
    keys: list[DkimKey]
    """All keys, oldest first."""


class DkimKey(TypedDict):
    """A DKIM key."""

    selector: str
    """Selector: the first label of the record's name."""
    state: DkimKeyState
    """What the key is used for."""
    key_bits: int
    """Length of the key, in bits."""
    created_at: str
    """When the key was created."""
    retires_at: NotRequired[str]
    """When you may remove the record of a retired key. Absent for other keys."""


DkimKeyState = Literal["next", "active", "retired"]
"""What a DKIM key is used for.

- `next`: The key signs mail as soon as its record is found in DNS.
- `active`: The key signs mail.
- `retired`: The key no longer signs mail. Its record stays for mail that is still on its way.
"""


SendingState = Literal["active", "throttled", "paused"]
"""What the circuit breaker of a domain allows. The breaker evaluates the last 24 hours when they have at least 100
emails.

- `active`: Sending is not limited.
- `throttled`: Sending is at risk or limited. At least 5 % of emails bounce because the mailbox does not exist, or
  at least 0.1 % lead to complaints; or the breaker was open and now allows ten emails a minute until a hundred
  had no such bounce and no complaint.
- `paused`: Sends are refused with `rate_limit_exceeded`: at least 10 % of emails bounced because the mailbox does
  not exist, or three, and at least 0.5 %, led to complaints.
"""


class CreateDomainRequest(TypedDict):
    """The domain to add."""

    domain: str
    """Name of the domain, such as `example.com`. Internationalised names are accepted in Unicode and returned as
    A-labels (`xn--...`). A subdomain is a separate domain: mail from `news.example.com` needs that domain.
    """
    require_tls: NotRequired[bool | None]
    """Send mail of this domain only over TLS with a valid certificate. Default: `false`."""


class UpdateDomainRequest(TypedDict):
    """The settings to change."""

    require_tls: NotRequired[bool | None]
    """Send mail of this domain only over TLS with a valid certificate. Takes effect within 5 seconds, for sends that
    begin then.
    """
    pool: NotRequired[str | None]
    """Name of the pool of addresses that mail of this domain leaves from; empty for that of the account's tier. The
    operator defines the pools. The SPF record then names other addresses: `records` shows its new value, and the
    domain is checked as usual. Takes effect within 5 seconds, for sends that begin then.
    """


class DeleteDomainResponse(TypedDict):
    """The response has no fields."""


Granularity = Literal["hour", "day", "total", "minute"]
"""Length of the periods of a series.

- `hour`: One period per hour.
- `day`: One period per day (UTC).
- `total`: One period for the whole range.
- `minute`: One period per minute, for ranges of up to six hours within the last two days.
"""


GroupBy = Literal["provider", "domain", "recipient_domain", "tag", "tenant", "reason"]
"""What the emails of a group have in common.

- `provider`: The recipient's mailbox provider, by the name of the mail exchanger: `google`, `microsoft`, `yahoo`,
  `apple` and others, else the exchanger's registrable domain. The key is empty where no exchanger was found or
  asked.
- `domain`: The sending domain.
- `recipient_domain`: The domain of the recipient's address.
- `tag`: The tag of the send. The key is empty for sends without one. At most 100 tags of a day are counted apart,
  for the whole account.
- `tenant`: The tenant of the send. The key is empty for sends without one.
- `reason`: The reason of a bounced or rejected email. No other email is in a group.
"""


_GetStatsResponseKeywords = TypedDict("_GetStatsResponseKeywords", {"from": str})


class GetStatsResponse(_GetStatsResponseKeywords):
    """Statistics of a range of time.
    `from`: Start of the counted range, inclusive.
    """

    to: str
    """End of the counted range, exclusive."""
    granularity: Granularity
    """Length of the periods of `series`."""
    totals: NotRequired[StatsTotals]
    """Counts and rates of the whole range."""
    reasons: dict[str, int]
    """Number of bounced or rejected emails for each reason, zeros included."""
    latency_ms: NotRequired[LatencyPercentiles]
    """Time to the outcome of an email."""
    series: list[StatsPeriod]
    """Every period from `from` to `to`, in order, including those without email."""
    domains: list[DomainSending]
    """What the circuit breaker of each sending domain allows now: the domain of the filter, or all domains of the
    account.
    """
    incomplete: NotRequired[bool]
    """True when counts may be missing; otherwise absent. Only with `tenant_id`: in some hour the account had more
    than 1,000 tenants, and this tenant may not have been among the 1,000 with the most emails. Its emails of such
    an hour are then missing here, and are counted without `tenant_id`.
    """
    groups: list[StatsGroup]
    """With `by`: at most 100 groups, those with the most emails first, then `other` with the rest if there is any.
    The counts of all groups add up to `totals`. Empty without `by`.
    """


class StatsTotals(TypedDict):
    """Counts and rates of the whole range."""

    sent: int
    """Emails that reached DNS or SMTP: delivered and bounced ones."""
    delivered: int
    """Emails that the recipient's server accepted."""
    bounced: int
    """Emails that the recipient's side did not accept."""
    rejected: int
    """Emails refused before anything was sent. Not part of `sent`."""
    complaints: int
    """Complaints of recipients, counted when the complaint arrived."""
    delivery_rate: float | None
    """`delivered` as a fraction of `sent`. `null` when nothing was sent."""
    bounce_rate: float | None
    """`bounced` as a fraction of `sent`. `null` when nothing was sent."""
    complaint_rate: float | None
    """`complaints` as a fraction of `sent`. `null` when nothing was sent."""
    late_bounces: int
    """Emails that a mail server accepted and then could not deliver because the mailbox does not exist, counted when
    the report arrived. They stay `delivered`.
    """


class LatencyPercentiles(TypedDict):
    """Time from the end of the checks, which include the look-up of mail exchangers, to the outcome of delivered and
    bounced emails, in milliseconds. Times are counted in buckets, each half as wide again as the one before, and
    interpolated within a bucket. Times over 45 s count as 45 s.
    """

    p50: int | None
    """50th percentile. `null` when nothing was sent."""
    p95: int | None
    """95th percentile. `null` when nothing was sent."""
    p99: int | None
    """99th percentile. `null` when nothing was sent."""


class StatsPeriod(TypedDict):
    """One period of the series."""

    period: str
    """Start of the period."""
    sent: int
    """Delivered and bounced emails."""
    delivered: int
    """Emails that the recipient's server accepted."""
    bounced: int
    """Emails that the recipient's side did not accept."""
    rejected: int
    """Emails refused before anything was sent."""


class DomainSending(TypedDict):
    """What the circuit breaker of a domain allows."""

    domain: str
    """Name of the domain."""
    sending: SendingState
    """What its circuit breaker allows."""


class StatsGroup(TypedDict):
    """Counts of the emails that have one value of `by`."""

    key: str
    """Value that the emails share, such as the name of a provider. Empty for emails without one. The key `other` has
    the emails of all further values: of each hour that is over, only the 100 values with the most emails are
    kept.
    """
    sent: int
    """Delivered and bounced emails."""
    delivered: int
    """Emails that the recipient's server accepted."""
    bounced: int
    """Emails that the recipient's side did not accept."""
    rejected: int
    """Emails refused before anything was sent."""
    complaints: int
    """Complaints of recipients, counted when the complaint arrived."""
    in_doubt: int
    """Bounced emails of which it is unknown whether they arrived. Part of `bounced`."""
    p95_ms: int | None
    """95th percentile of the time to the outcome, in milliseconds, as in `latency_ms`. `null` when nothing was sent,
    and with `by=reason`.
    """
    reasons: dict[str, int]
    """Number of bounced or rejected emails for each reason that occurred."""


class SuppressionServiceImportRequest(TypedDict):
    """The addresses to import, and their list."""

    emails: list[str]
    """1 to 10,000 addresses, without display names."""
    tenant_id: NotRequired[str | None]
    """Tenant whose list gets the addresses, 1 to 128 characters. Default: the list of the whole account."""
    reason: NotRequired[SuppressionReason | None]
    """Reason of the new entries. Default: `import`."""
    dry_run: NotRequired[bool | None]
    """Whether to only count what the import would do. Default: `false`."""
    import_id: NotRequired[str | None]
    """Identifier of the import that this request belongs to: `imp_` and 26 characters. It is that of an earlier
    response, or your own. Default: a new one.
    """


class SuppressionServiceImportResponse(TypedDict):
    """Result of an import. `imported`, `already_suppressed` and `invalid` add up to `total`."""

    imported: int
    """New entries, and permanent ones in place of entries that would have expired."""
    already_suppressed: int
    """Addresses with a permanent entry on this list, and repetitions within the import."""
    invalid: int
    """Texts that are not an address the service could mail. `errors` lists them."""
    total: int
    """Addresses in the request."""
    errors: list[SuppressionImportError]
    """The skipped texts, in the order of the request."""
    import_id: NotRequired[str]
    """Identifier of the import, by which it can be undone. Absent after a dry run."""
    preview: NotRequired[SuppressionImportPreview]
    """Some of the addresses. Present after a dry run."""


class SuppressionImportError(TypedDict):
    """A text that was not imported."""

    index: int
    """Position in `emails`, starting at 0."""
    email: str
    """The text, as given in the request."""
    error: str
    """Error code: `invalid_address`. Handle unknown codes in the same way."""


class SuppressionImportPreview(TypedDict):
    """The first addresses that a dry run counted, in the form used for matching."""

    added: list[str]
    """The first ten that the import would add."""
    known: list[str]
    """The first ten that are suppressed already."""


class SuppressionServiceUndoImportResponse(TypedDict):
    """What the call undid."""

    removed: int
    """Entries that it removed."""
    restored: int
    """Entries that it put back in place of permanent ones."""


class SuppressionServiceListResponse(TypedDict):
    """One page of entries."""

    entries: list[SuppressionEntry]
    """The entries, newest first, without those that have expired."""
    next_cursor: NotRequired[str]
    """Cursor of the next page. Absent on the last page."""
    has_more: bool
    """True when there is a next page."""


class SuppressionEntry(TypedDict):
    """One suppressed address."""

    email: str
    """The address in the form used for matching: A to Z in lower case, its domain as A-labels."""
    scope: SuppressionScope
    """Which sends the entry applies to."""
    tenant_id: NotRequired[str]
    """Tenant of the entry. Present when `scope` is `tenant`."""
    reason: SuppressionReason
    """What created the entry."""
    message_id: NotRequired[str]
    """Message whose bounce or complaint created the entry."""
    detail: NotRequired[str]
    """Text behind the entry, such as the reply of the recipient's server."""
    created_at: str
    """When the address was suppressed."""
    expires_at: NotRequired[str]
    """When the entry expires. Absent for a permanent entry."""
    evidence: NotRequired[Evidence]
    """What the entry rests on: the kind of the rule that suppressed the address, and the last reply or report.
    Absent for an entry of an import or added by hand, for a global one, and for one that an earlier version made.
    """


class SuppressionServiceAddRequest(TypedDict):
    """The address to add, and its list."""

    email: str
    """The address, without a display name."""
    tenant_id: NotRequired[str | None]
    """Tenant whose list gets the address, 1 to 128 characters. Default: the list of the whole account."""
    reason: NotRequired[SuppressionReason | None]
    """Reason of the new entry. Default: `manual`."""


class SuppressionServiceRemoveResponse(TypedDict):
    """The response has no fields."""


class SuppressionServiceLiftRequest(TypedDict):
    """The time in which bounces made the entries to remove, and filters. An entry is removed when it matches all of
    them.
    """

    created_from: str
    """Only entries whose `created_at` is this time or later. In JSON it is a time with an offset, such as
    `2026-11-01T12:00:00Z`, or a date, which means 00:00 UTC of that day.
    """
    created_to: str
    """Only entries whose `created_at` is earlier than this. It has the format of `created_from`."""
    domain: NotRequired[str | None]
    """Only entries of addresses of this domain."""
    kind: NotRequired[EvidenceKind | None]
    """Only entries whose evidence has this kind, which is not `complaint`. By default also those without evidence."""
    tenant_id: NotRequired[str | None]
    """Only entries of this tenant. By default those of the account and of all its tenants."""
    dry_run: NotRequired[bool | None]
    """Only show what would be removed."""


class SuppressionServiceLiftResponse(TypedDict):
    """What the call removed, or would remove."""

    lifted: int
    """Number of entries."""
    entries: list[SuppressionEntry]
    """The first 100 of them."""


class GetLimitsResponse(TypedDict):
    """The limits of the account."""

    tier: str
    """Name of the account's tier."""
    requests_per_minute: int
    """Requests per minute that the tier allows. A batch is one request. Sends of people in the dashboard count like
    those with a key. The headers of every response say how many are left.
    """
    sizes: NotRequired[SizeLimits]
    """Maximum sizes."""
    counts: NotRequired[CountLimits]
    """Maximum counts in one request."""
    domains: list[DomainVolume]
    """Daily volume of every domain of the account, ordered by name."""
    month: NotRequired[MonthUsage]
    """What the account has sent this month, and its quota."""


class SizeLimits(TypedDict):
    """Maximum sizes. A larger request is refused as a whole."""

    request_bytes: int
    """Body of a request, in bytes."""
    html_bytes: int
    """`html` of a message, in bytes of UTF-8."""
    text_bytes: int
    """`text` of a message, in bytes of UTF-8."""
    attachments_bytes: int
    """All attachments of a message together, decoded, in bytes."""
    subject_characters: int
    """`subject`, in characters."""
    header_value_characters: int
    """Value of a custom header, in characters."""
    tenant_id_characters: int
    """`tenant_id`, in characters."""
    metadata_bytes: int
    """All keys and values of `metadata` together, in bytes of UTF-8."""
    metadata_key_characters: int
    """Key of `metadata`, in characters."""
    metadata_value_characters: int
    """Value of `metadata`, in characters."""
    tag_characters: int
    """`tag`, in characters."""
    filename_characters: int
    """`filename` of an attachment, in characters."""


class CountLimits(TypedDict):
    """Maximum counts in one request."""

    recipients: int
    """Recipients of a message: distinct addresses in `to`, `cc` and `bcc` together."""
    attachments: int
    """Attachments of a message."""
    headers: int
    """Custom headers of a message."""
    batch_emails: int
    """Messages in a batch."""
    import_addresses: int
    """Addresses in one import into a suppression list."""
    reply_to: int
    """Addresses in `reply_to` of a message."""
    metadata_pairs: int
    """Pairs in `metadata` of a message."""


class DomainVolume(TypedDict):
    """Daily volume of a domain."""

    domain: str
    """Name of the domain."""
    daily_limit: int | None
    """Emails the domain may send today (UTC). `null` when the domain is not in its warm-up, and nothing limits its
    volume.
    """
    sent_today: int
    """Emails counted today (UTC), without dry runs and mail to the simulator. During the warm-up every email that
    was let through counts; otherwise every email that was `delivered` or `bounced`.
    """


_MonthUsageKeywords = TypedDict("_MonthUsageKeywords", {"from": str})


class MonthUsage(_MonthUsageKeywords):
    """What an account has sent in a UTC month.
    `from`: First day of the month, such as `2026-01-01`.
    """

    ends_at: str
    """When the month ends."""
    quota: int | None
    """Emails the account may send in the month. `null` when its tier has no quota."""
    used: int
    """Emails counted in the month, without dry runs and mail to the simulator. With a quota, every email that the
    quota admitted counts. Without one, every email that was `delivered` or `bounced` counts.
    """
    domains: list[DomainUsage]
    """The month's emails by domain, those with the most first. At most 100."""


class DomainUsage(TypedDict):
    """What a domain has sent in a month."""

    domain: str
    """Name of the domain."""
    sent: int
    """Emails that were `delivered` or `bounced`."""
    simulated: int
    """Emails to the simulator, which are no part of `sent`."""


class GetAccountResponse(TypedDict):
    """An account, and the key that asked."""

    account_id: str
    """Id of the account, with the prefix `acc_`."""
    name: str
    """Name of the account."""
    mode: KeyMode
    """Mode of the key."""
    scopes: list[str]
    """Scopes of the key, ordered by name."""
    key_id: NotRequired[str]
    """Id of the key, with the prefix `key_`. Absent for a person of the dashboard."""
    key_expires_at: NotRequired[str]
    """When the key expires. Absent for a key that does not."""
    tier: str
    """Name of the account's tier."""
    region: str
    """Region where the data of this service is kept, as its operator names it."""


KeyMode = Literal["live", "test"]
"""Whether sends of a key reach mail servers.

- `live`: Sends are real, unless they ask for a dry run.
- `test`: Every send is a dry run.
"""


@final
class EmailDeliveryPayloadDelivered(TypedDict):
    """Body of a delivery event: the terminal state of one recipient. The bytes are the same on every attempt and
    replay, unless an address in them was erased meanwhile. Ignore unknown fields: later versions may add some.
    """

    event: Literal["email.delivery"]
    """Always `email.delivery`."""
    message_id: str
    """Identifier of the message: `msg_` and 26 characters."""
    status: Literal["delivered"]
    """Terminal state of the recipient."""
    timestamp: int
    """When the outcome was recorded, in Unix seconds."""
    event_id: str
    """Identifier of the event: `evt_` and 26 characters. Store it to recognise an event that arrives twice."""
    recipient: str
    """Address of the recipient."""
    sandbox: NotRequired[bool]
    """True when the event comes from a dry run. Only a replay sends such an event."""
    smtp: NotRequired[PayloadEvidence]
    """What the recipient's server said. Absent when no server was asked."""
    tag: NotRequired[str]
    """Tag given with the send."""
    metadata: NotRequired[dict[str, str]]
    """Metadata given with the send."""
    tenant_id: NotRequired[str]
    """Tenant given with the send."""


@final
class EmailDeliveryPayloadBounced(TypedDict):
    """Body of a delivery event: the terminal state of one recipient. The bytes are the same on every attempt and
    replay, unless an address in them was erased meanwhile. Ignore unknown fields: later versions may add some.
    """

    event: Literal["email.delivery"]
    """Always `email.delivery`."""
    message_id: str
    """Identifier of the message: `msg_` and 26 characters."""
    status: Literal["bounced"]
    """Terminal state of the recipient."""
    reason: BounceReason
    """Reason of the outcome. Present when `status` is `bounced` or `rejected`."""
    timestamp: int
    """When the outcome was recorded, in Unix seconds."""
    event_id: str
    """Identifier of the event: `evt_` and 26 characters. Store it to recognise an event that arrives twice."""
    recipient: str
    """Address of the recipient."""
    sandbox: NotRequired[bool]
    """True when the event comes from a dry run. Only a replay sends such an event."""
    smtp: NotRequired[PayloadEvidence]
    """What the recipient's server said. Absent when no server was asked."""
    in_doubt: NotRequired[bool]
    """True when the reply to the final dot was lost: the message may or may not have arrived."""
    retryable: NotRequired[bool]
    """True when you may send the message again as a new send: see `RecipientOutcome`."""
    tag: NotRequired[str]
    """Tag given with the send."""
    metadata: NotRequired[dict[str, str]]
    """Metadata given with the send."""
    tenant_id: NotRequired[str]
    """Tenant given with the send."""
    detail: NotRequired[str]
    """The fault of this service because of which nothing was sent to the recipient. Other recipients of the message
    have an outcome.
    """


@final
class EmailDeliveryPayloadRejected(TypedDict):
    """Body of a delivery event: the terminal state of one recipient. The bytes are the same on every attempt and
    replay, unless an address in them was erased meanwhile. Ignore unknown fields: later versions may add some.
    """

    event: Literal["email.delivery"]
    """Always `email.delivery`."""
    message_id: str
    """Identifier of the message: `msg_` and 26 characters."""
    status: Literal["rejected"]
    """Terminal state of the recipient."""
    reason: RejectionReason
    """Reason of the outcome. Present when `status` is `bounced` or `rejected`."""
    timestamp: int
    """When the outcome was recorded, in Unix seconds."""
    event_id: str
    """Identifier of the event: `evt_` and 26 characters. Store it to recognise an event that arrives twice."""
    recipient: str
    """Address of the recipient."""
    sandbox: NotRequired[bool]
    """True when the event comes from a dry run. Only a replay sends such an event."""
    smtp: NotRequired[PayloadEvidence]
    """What the recipient's server said. Absent when no server was asked."""
    tag: NotRequired[str]
    """Tag given with the send."""
    metadata: NotRequired[dict[str, str]]
    """Metadata given with the send."""
    tenant_id: NotRequired[str]
    """Tenant given with the send."""
    detail: NotRequired[str]
    """The fault of this service because of which nothing was sent to the recipient. Other recipients of the message
    have an outcome.
    """


EmailDeliveryPayload = (
    EmailDeliveryPayloadDelivered
    | EmailDeliveryPayloadBounced
    | EmailDeliveryPayloadRejected
)
"""Body of a delivery event: the terminal state of one recipient. The bytes are the same on every attempt and replay,
unless an address in them was erased meanwhile. Ignore unknown fields: later versions may add some.
"""


class PayloadEvidence(TypedDict):
    """The part of the evidence that a payload carries. Get event returns all of it."""

    mx: NotRequired[str]
    """Host name of the mail exchanger."""
    code: NotRequired[int]
    """SMTP reply code, such as 250 or 550."""
    enhanced: NotRequired[str]
    """Enhanced status code (RFC 3463), such as `5.1.1`."""
    reply: NotRequired[str]
    """Text of the reply in one line, at most 1,024 bytes."""


class EmailFeedbackPayload(TypedDict):
    """Body of a feedback event: a late bounce, or a complaint. It is sent only to an endpoint that asked for the
    kind `email.feedback`. The terminal state of the message never changes.
    """

    event: Literal["email.feedback"]
    """Always `email.feedback`."""
    message_id: str
    """Identifier of the message: `msg_` and 26 characters."""
    status: DeliveryStatus
    """Terminal state of the recipient, which the report does not change."""
    reason: NotRequired[Reason]
    """Reason that the report gives. Absent for a complaint."""
    timestamp: int
    """When the report arrived, in Unix seconds."""
    event_id: str
    """Identifier of the event: `evt_` and 26 characters. Store it to recognise an event that arrives twice."""
    recipient: str
    """Address of the recipient."""
    feedback: FeedbackKind
    """What the report says."""
    detail: NotRequired[str]
    """Text of the report: the mail server's reply for a late bounce, the type of complaint for a complaint."""
    tag: NotRequired[str]
    """Tag given with the send."""
    metadata: NotRequired[dict[str, str]]
    """Metadata given with the send."""
    tenant_id: NotRequired[str]
    """Tenant given with the send."""
    smtp: NotRequired[ReportEvidence]
    """What the report quotes, and how it was read. Absent when it quotes nothing that could be read."""
    member: NotRequired[bool]
    """True when a mailbox other than the recipient's failed: see `Feedback`."""


class ReportEvidence(TypedDict):
    """The part of a report's evidence that a payload carries."""

    code: NotRequired[int]
    """SMTP reply code. Absent when the report quotes no reply."""
    enhanced: NotRequired[str]
    """Enhanced status code (RFC 3463), such as `5.1.1`."""
    reply: NotRequired[str]
    """Text of the reply in one line, at most 1,024 bytes. Absent when the report quotes no reply."""
    decided_by: NotRequired[DecidedBy]
    """What decided how the report was read. Always `report` for a complaint."""
    words: NotRequired[str]
    """The phrase that decided. Present when words decided."""


class WebhookTestPayload(TypedDict):
    """Body of a test event, which the test of the endpoint sends."""

    event: Literal["webhook.test"]
    """Always `webhook.test`."""
    event_id: str
    """Identifier of the test: `evt_` and 26 characters. No stored event has this id."""
    timestamp: int
    """When the test was sent, in Unix seconds."""


class ErrorBody(TypedDict):
    """The body of every error."""

    error: Literal[
        "invalid_payload",
        "invalid_address",
        "invalid_api_key",
        "domain_not_verified",
        "insufficient_scope",
        "not_found",
        "method_not_allowed",
        "event_expired",
        "payload_too_large",
        "unsupported_media_type",
        "transient_failure",
        "rate_limit_exceeded",
        "webhook_not_configured",
    ]
    """- `invalid_payload`: 400: the JSON is malformed, or a field is missing, unknown, of the wrong type or too
      large. `details` names the field.
    - `invalid_address`: 400: an address does not parse. `details` names the field.
    - `invalid_api_key`: 401: the API key is missing, unknown, revoked or expired.
    - `domain_not_verified`: 403: the From domain is not a domain of the account.
    - `insufficient_scope`: 403: the API key lacks the scope of this call. Test keys can only send dry runs and
      read.
    - `not_found`: 404: the path does not exist, or the account has no such message, event, domain, endpoint or
      suppression entry.
    - `method_not_allowed`: 405: the path exists, but does not support this method. The header `Allow` lists the
      supported ones.
    - `event_expired`: 410: the id is older than 90 days, which is how long messages and events are kept.
    - `payload_too_large`: 413: the request is larger than 15 MiB.
    - `unsupported_media_type`: 415: the body is not JSON in UTF-8, or it is compressed. gRPC and Connect accept
      gzip, and no other compression.
    - `transient_failure`: 500: a fault of the service. Nothing was sent, and it is safe to retry.
    - `rate_limit_exceeded`: 429: the requests per minute are used up, the domain's warm-up or circuit breaker
      allows no more, or too many lists, counts, statistics or imports of the account run at the same time. Wait
      `retry_after` seconds.
    - `webhook_not_configured`: 409: the account has no webhook endpoint.
    """
    message: str
    """What is wrong, in words."""
    retry_after: NotRequired[int]
    """Seconds to wait before you try again."""
    request_id: str
    """The id in the header `X-Request-Id`."""
    details: NotRequired[list[dict[str, str]]]
    """The invalid fields, by their path, such as `attachments[0].content`."""


_ListEmailsQueryKeywords = TypedDict("_ListEmailsQueryKeywords", {"from": NotRequired[str | datetime | date]})


class ListEmailsQuery(_ListEmailsQueryKeywords):
    """`from`: Only emails whose `createdAt` is this time or later. In JSON it is a time with an offset, such as
    `2026-11-01T12:00:00Z`, or a date, which means 00:00 UTC of that day. When you poll, overlap by two minutes:
    an email is listed when its send ends, which may be that long after its `createdAt`. When the service stopped
    during the send, it may be longer: the list of events has its events by the time at which they were recorded.
    """

    status: NotRequired[DeliveryStatus]
    """Only emails with this status: the status of the message, which is the worst of its recipients."""
    reason: NotRequired[Reason]
    """Only emails with this reason: the reason of the message."""
    recipient: NotRequired[str]
    """Only emails with this recipient, in `to`, `cc` or `bcc`. The case of A to Z does not matter, and the domain
    may be in Unicode or A-label form. 3 to 64 octets without `@` and blanks find all addresses that begin with
    them, and `@example.com` those of the domain. Any other text is refused.
    """
    domain: NotRequired[str]
    """Only emails from this domain: the part of `from` after the @. It may be in Unicode or A-label form."""
    tag: NotRequired[str]
    """Only emails with this tag."""
    tenant_id: NotRequired[str]
    """Only emails with this tenant."""
    sandbox: NotRequired[bool]
    """`true` for dry runs only, `false` for real sends only. By default both."""
    to: NotRequired[str | datetime | date]
    """Only emails whose `createdAt` is earlier than this. It has the format of `from`."""
    limit: NotRequired[int]
    """Number of emails on a page, 1 to 100. Default: 50."""
    cursor: NotRequired[str]
    """`next_cursor` of the previous page. Send the same filters with it."""
    in_doubt: NotRequired[bool]
    """`true` for emails with a recipient in doubt only, `false` for emails without one. By default both. The status
    of an email in doubt is `bounced`.
    """
    recipient_domain: NotRequired[str]
    """Only emails with a recipient at this domain: the part of the address after the @. It may be in Unicode or
    A-label form. Together with `recipient`, one recipient must match both.
    """
    subject: NotRequired[str]
    """Only emails whose subject has all of these words, in any order. Only whole words match, and case does not
    matter. Every character but a letter or a digit separates words. In Japanese, Chinese, Korean, Thai, Lao,
    Burmese and Khmer any part of a text matches: all characters that are neighbours in the part must be
    neighbours in the subject.
    """
    metadata: NotRequired[dict[str, str]]
    """Only emails with all of these pairs in their `metadata`. Key and value are compared exactly. In a URL a pair
    is `metadata.order=4102` or `metadata[order]=4102`.
    """
    bounced_by: NotRequired[str]
    """Only emails that this mailbox provider bounced for a recipient: a `key` of the statistics by provider, such as
    `microsoft`, or the domain or the IP address of a mail exchanger. It reads the bounced emails, which are few,
    one by one: give `from` for a provider that bounces little.
    """
    feedback: NotRequired[FeedbackKind]
    """Only emails about which such a report came back after the outcome. The status of an email that came back stays
    `delivered`.
    """
    sender: NotRequired[str]
    """Only emails from this address, whatever its display name. It looks at the emails of the address's domain one
    by one.
    """


_ListRefusedSendsQueryKeywords = TypedDict("_ListRefusedSendsQueryKeywords", {"from": NotRequired[str | datetime | date]})


class ListRefusedSendsQuery(_ListRefusedSendsQueryKeywords):
    """`from`: Only sends that were refused at this time or later, in the format of List emails."""

    recipient: NotRequired[str]
    """Only sends to this recipient. It has the forms of `recipient` in List emails."""
    error: NotRequired[ErrorReason]
    """Only sends that ended with this error."""
    to: NotRequired[str | datetime | date]
    """Only sends that were refused before this time."""
    limit: NotRequired[int]
    """Number of entries on a page, 1 to 100. Default: 50."""
    cursor: NotRequired[str]
    """`next_cursor` of the previous page. Send the same filters with it."""


_ListEventsQueryKeywords = TypedDict("_ListEventsQueryKeywords", {"from": NotRequired[str | datetime | date]})


class ListEventsQuery(_ListEventsQueryKeywords):
    """`from`: Only events whose `timestamp` is this time or later. In JSON it is a time with an offset, such as
    `2026-11-01T12:00:00Z`, or a date, which means 00:00 UTC of that day. When you poll, overlap by a minute: an
    event is listed when it is committed, mostly a moment after its timestamp.
    """

    message_id: NotRequired[str]
    """Only events of this message."""
    status: NotRequired[DeliveryStatus]
    """Only events with this status."""
    reason: NotRequired[Reason]
    """Only events with this reason."""
    recipient: NotRequired[str]
    """Only events of this recipient address. The case of A to Z does not matter, and the domain may be in Unicode or
    A-label form. The beginning of addresses and `@example.com` are read as in `ListEmailsRequest.recipient`.
    """
    tenant_id: NotRequired[str]
    """Only events of sends with this tenant."""
    sandbox: NotRequired[bool]
    """`true` for dry runs only, `false` for real sends only. By default both."""
    to: NotRequired[str | datetime | date]
    """Only events whose `timestamp` is earlier than this. It has the format of `from`."""
    limit: NotRequired[int]
    """Number of events on a page, 1 to 100. Default: 50."""
    cursor: NotRequired[str]
    """`next_cursor` of the previous page. Send the same filters with it."""
    tag: NotRequired[str]
    """Only events of sends with this tag."""
    event: NotRequired[Literal["email.delivery", "email.feedback"]]
    """Only events of this kind: `email.delivery` or `email.feedback`. By default both."""
    feedback: NotRequired[FeedbackKind]
    """Only late bounces, or only complaints. No outcome of a send matches."""


class ListChangesQuery(TypedDict):


    after: NotRequired[str]
    """Where to start: a position of an earlier response, or `begin` for the oldest event that is stored. By default
    the events that are committed after the call, and sometimes a few that were committed just before it. Filters
    may change between two calls.
    """
    message_id: NotRequired[str]
    """Only events of this message."""
    status: NotRequired[DeliveryStatus]
    """Only events with this status."""
    reason: NotRequired[Reason]
    """Only events with this reason."""
    recipient: NotRequired[str]
    """Only events of this recipient address. The case of A to Z does not matter, and the domain may be in Unicode or
    A-label form.
    """
    tenant_id: NotRequired[str]
    """Only events of sends with this tenant."""
    sandbox: NotRequired[bool]
    """`true` for dry runs only, `false` for real sends only. Default: `false`."""
    tag: NotRequired[str]
    """Only events of sends with this tag."""
    event: NotRequired[Literal["email.delivery", "email.feedback"]]
    """Only events of this kind: `email.delivery` or `email.feedback`. By default both."""
    limit: NotRequired[int]
    """Most events of the response, 1 to 100. Default: 50."""
    wait_s: NotRequired[int]
    """How long to wait for an event when there is none, in seconds, 0 to 20. Default: 0."""
    feedback: NotRequired[FeedbackKind]
    """Only late bounces, or only complaints. No outcome of a send matches."""


_GetStatsQueryKeywords = TypedDict("_GetStatsQueryKeywords", {"from": NotRequired[str | datetime | date]})


class GetStatsQuery(_GetStatsQueryKeywords):
    """`from`: Start of the range, inclusive: a time with an offset (`2026-11-01T12:00:00Z`), or a date
    (`2026-11-01`), which is 00:00 UTC of that day. A time within an hour is rounded down to the hour; with
    `granularity=day`, to the day; with `granularity=minute`, to the minute. Default: seven days before `to`, and
    one hour with `granularity=minute`.
    """

    to: NotRequired[str | datetime | date]
    """End of the range, exclusive, in the format of `from`. A time within an hour is rounded up to the next hour;
    with `granularity=day`, to the next day; with `granularity=minute`, to the next minute. Default: the end of
    the current hour, day or minute.
    """
    granularity: NotRequired[Granularity]
    """Length of the periods of `series`, which has at most 8,784 of them (a year of hours), or 360 minutes. Default:
    `day`.
    """
    domain: NotRequired[str]
    """Only emails sent from this domain."""
    tenant_id: NotRequired[str]
    """Only emails of sends with this tenant."""
    by: NotRequired[GroupBy]
    """Also returns `groups`: the counts of the whole range, for each value of this. Groups are counted by whole
    hours, so it cannot be combined with `granularity=minute`.
    """
    simulated: NotRequired[bool]
    """True: only emails to the simulator's addresses (`simulator.test`). False, the default: all others. They are
    counted apart, and neither the warm-up nor the circuit breaker counts those to the simulator.
    """


class ListSuppressionsQuery(TypedDict):


    email: NotRequired[str]
    """Only entries that apply to this address, including a global one."""
    reason: NotRequired[SuppressionReason]
    """Only entries with this reason."""
    tenant_id: NotRequired[str]
    """Only entries of this tenant."""
    limit: NotRequired[int]
    """Number of entries on a page, 1 to 1,000. Default: 50."""
    cursor: NotRequired[str]
    """`next_cursor` of the previous page. Send the same filters with it."""
    created_from: NotRequired[str | datetime | date]
    """Only entries whose `created_at` is this time or later. In JSON it is a time with an offset, such as
    `2026-11-01T12:00:00Z`, or a date, which means 00:00 UTC of that day.
    """
    created_to: NotRequired[str | datetime | date]
    """Only entries whose `created_at` is earlier than this. It has the format of `created_from`."""
    domain: NotRequired[str]
    """Only entries of addresses of this domain."""
    kind: NotRequired[EvidenceKind]
    """Only entries whose evidence has this kind."""


class RemoveSuppressionQuery(TypedDict):


    tenant_id: NotRequired[str]
    """Tenant from whose list the address is removed. Default: the list of the whole account."""


ROUTES: dict[str, tuple[str, str, bool]] = {
    "sendEmail": ("POST", "/api/v1/emails/send", True),
    "validateEmail": ("POST", "/api/v1/emails/validate", True),
    "sendEmailBatch": ("POST", "/api/v1/emails/batch", True),
    "listEmails": ("GET", "/api/v1/emails", False),
    "getEmail": ("GET", "/api/v1/emails/{id}", False),
    "listRefusedSends": ("GET", "/api/v1/refused-sends", False),
    "getReceipt": ("GET", "/api/v1/emails/{id}/receipt", False),
    "listEvents": ("GET", "/api/v1/events", False),
    "getEvent": ("GET", "/api/v1/events/{event_id}", False),
    "listChanges": ("GET", "/api/v1/events/changes", False),
    "replayEvent": ("POST", "/api/v1/events/{event_id}/replay", False),
    "replayMessage": ("POST", "/api/v1/messages/{message_id}/replay", False),
    "listEndpoints": ("GET", "/api/v1/webhooks", False),
    "createEndpoint": ("POST", "/api/v1/webhooks", False),
    "getEndpoint": ("GET", "/api/v1/webhooks/{endpoint_id}", False),
    "updateEndpoint": ("PATCH", "/api/v1/webhooks/{endpoint_id}", False),
    "deleteEndpoint": ("DELETE", "/api/v1/webhooks/{endpoint_id}", False),
    "testEndpoint": ("POST", "/api/v1/webhooks/{endpoint_id}/test", False),
    "rotateEndpointSecret": ("POST", "/api/v1/webhooks/{endpoint_id}/secret/rotate", False),
    "getWebhook": ("GET", "/api/v1/webhook", False),
    "putWebhook": ("PUT", "/api/v1/webhook", False),
    "deleteWebhook": ("DELETE", "/api/v1/webhook", False),
    "testWebhook": ("POST", "/api/v1/webhook/test", False),
    "rotateWebhookSecret": ("POST", "/api/v1/webhook/secret/rotate", False),
    "listDomains": ("GET", "/api/v1/domains", False),
    "createDomain": ("POST", "/api/v1/domains", False),
    "getDomain": ("GET", "/api/v1/domains/{id}", False),
    "updateDomain": ("PATCH", "/api/v1/domains/{id}", False),
    "deleteDomain": ("DELETE", "/api/v1/domains/{id}", False),
    "verifyDomain": ("POST", "/api/v1/domains/{id}/verify", False),
    "rotateDkim": ("POST", "/api/v1/domains/{id}/dkim/rotate", False),
    "getStats": ("GET", "/api/v1/stats", False),
    "importSuppressions": ("POST", "/api/v1/suppression/import", False),
    "undoSuppressionImport": ("DELETE", "/api/v1/suppression/imports/{import_id}", False),
    "listSuppressions": ("GET", "/api/v1/suppression", False),
    "addSuppression": ("POST", "/api/v1/suppression", False),
    "removeSuppression": ("DELETE", "/api/v1/suppression/{email}", False),
    "liftSuppressions": ("POST", "/api/v1/suppression/lift", False),
    "getLimits": ("GET", "/api/v1/limits", False),
    "getAccount": ("GET", "/api/v1/account", False),
}
"""The method and path of each call, and whether it takes an `Idempotency-Key`."""
