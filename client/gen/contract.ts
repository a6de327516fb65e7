// Generated from the contract by `npm run gen`. Do not edit.

import type { ByEvent, ByResult, ByStatus } from '../outcome.ts'

/** The message to send. */
export interface SendRequest {
  /**
   * Recipients, at least one: `ann@example.com` or `Ann <ann@example.com>`. In JSON a single string is also accepted.
   * `to`, `cc` and `bcc` hold at most 50 distinct addresses together. An address in several fields is one recipient, of
   * the first of them. Letters beyond ASCII before the `@` need a server that offers SMTPUTF8.
   */
  to: string | string[]
  /**
   * Sender address, `a@example.com` or `Name <a@example.com>`, in ASCII before its `@`. Its domain must be a verified
   * domain of the account. With `raw` it may be absent; otherwise it has the address of the From header.
   */
  from?: string | null
  /**
   * Subject, 1 to 998 characters. Required without `raw`. Encoded words (RFC 2047) are decoded, and spaces at the end
   * are dropped.
   */
  subject?: string | null
  /** HTML body, at most 2 MiB. One of `html`, `text` and `raw` is required. */
  html?: string | null
  /** Plain-text body, at most 2 MiB. One of `html`, `text` and `raw` is required. */
  text?: string | null
  /** Reply-To addresses, at most 10, with or without display names. In JSON a single string is also accepted. */
  reply_to?: string | string[] | null
  /** Files to attach, at most 10. */
  attachments?: Attachment[] | null
  /**
   * Custom headers, at most 50, each at most 998 characters long, `References` and `In-Reply-To` at most 8,192. Headers
   * that the service writes itself are refused: From, To, Subject, Date, Message-ID, Content-* and others.
   */
  headers?: Record<string, string> | null
  /**
   * Your own identifier for one of your customers, 1 to 128 printable characters. Each tenant has its own suppression
   * list, and you can filter events and statistics by tenant.
   */
  tenant_id?: string | null
  /** Recipients whom the message names in its Cc header. The format is that of `to`. */
  cc?: string | string[] | null
  /** Recipients whom no copy of the message names. The format is that of `to`. */
  bcc?: string | string[] | null
  /**
   * Your own data about the message: at most 20 pairs. A key has 1 to 40 characters of `A-Z a-z 0-9 _ . -`, a value at
   * most 500 characters, all of them together at most 4,096 bytes. It comes back in Get email, lists, events and
   * webhooks, and is in no header of the message.
   */
  metadata?: Record<string, string> | null
  /**
   * Your own name for a group of messages, 1 to 100 printable characters. It comes back where `metadata` does, and
   * filters lists of emails and events.
   */
  tag?: string | null
  /**
   * `message_id` of an earlier message that this one sends again. Each recipient must have ended `retryable` there, and
   * can be retried once. The account, `tenant_id`, the domain of `from` and the mode (live or dry run) must be the
   * same. A chain of retries ends 7 days after its first message. The message keeps the envelope sender of the first
   * one, so that mail servers which make unknown senders wait (greylisting) accept it.
   */
  retry_of?: string | null
  /** Makes the plain-text body from the HTML, where `text` is absent. */
  auto_text?: boolean | null
  /**
   * A whole message (RFC 5322) that your software has built, with CRLF line ends, in JSON as base64. It replaces
   * `subject`, `html`, `text`, `attachments`, `headers`, `reply_to` and `auto_text`. `to`, `cc` and `bcc` decide who
   * gets it; its To and Cc headers stay as they are. It has one From address, of a verified domain. The service removes
   * Bcc, Resent-Bcc and Return-Path, adds Date and Message-ID where they are absent, and signs it. It re-encodes
   * nothing.
   */
  raw?: string | null
}

/** A file attached to the message, or an image shown within its HTML. */
export interface Attachment {
  /**
   * File name in any script, 1 to 1,024 characters. Required. The message carries only the base name, cut to 255 bytes.
   */
  filename: string
  /**
   * Content of the file. In JSON it is base64, in the standard or the URL alphabet, with or without padding. Required;
   * an empty string is an empty file. All attachments of a message together have at most 10 MiB.
   */
  content: string
  /**
   * Media type, such as `image/png` or `text/calendar; method=REQUEST`. It may carry the parameters `charset`,
   * `method`, `component`, `format` and `name`. `multipart/*` and `message/*` are refused. By default the extension of
   * `filename` decides. A `text/*` file that is UTF-8 gets `charset=utf-8` where it has no charset. A `text/calendar`
   * file with a `method` is an invitation: it is also the last alternative of the body, and a `METHOD` in it must be
   * the same.
   */
  content_type?: string | null
  /**
   * Makes the file an inline part of the HTML, which refers to it as `cid:` and this id. 1 to 128 characters of `A-Z
   * a-z 0-9 . _ @ + -`, different for each file. Needs `html`.
   */
  content_id?: string | null
}

/** The outcome of a send. */
export type SendResponse = ByStatus<SendResponseFields, BounceReason, RejectionReason>

interface SendResponseFields {
  /**
   * Terminal state of the message. With several recipients it is the worst of theirs: `bounced`, then `rejected`, then
   * `delivered`.
   */
  status: DeliveryStatus
  /** Identifier of the message: `msg_` and 26 characters. */
  message_id: string
  /** Reason of the first recipient with this `status`. Present when `status` is `bounced` or `rejected`. */
  reason?: Reason
  /**
   * True when you may send the message again as a new send: see `RecipientOutcome`. With several recipients, see each
   * of `recipients`.
   */
  retryable?: boolean
  /**
   * True when the reply to the final dot was lost for at least one recipient: the message may or may not have arrived.
   * The service never sends it again.
   */
  in_doubt?: boolean
  /**
   * Evidence for the only recipient: what its mail server or its DNS said. Absent when neither was asked. With several
   * recipients, see each of `recipients`.
   */
  smtp?: SmtpEvidence
  /** Outcome of each recipient. Present when the message has more than one. */
  recipients?: RecipientOutcome[]
  /** True when this was a dry run and nothing was sent. */
  sandbox?: boolean
  /**
   * In a dry run, the checks in the order they ran. A check that did not pass decided the outcome of its recipients.
   */
  checks?: Check[]
  /**
   * The suppression entry that blocked the only recipient. Present when `reason` is `suppression_list`, except for the
   * simulator's address.
   */
  suppression?: Suppression
  /** Why the only recipient was rejected and what to do about it. With several recipients, see each of `recipients`. */
  detail?: string
}

/**
 * Terminal state of a message or of one recipient. There are no other states, and a terminal state never changes.
 *
 * - `delivered`: The recipient's server replied 250 to the final dot of the message. This says nothing about the inbox.
 * - `bounced`: The recipient's side did not accept the message.
 * - `rejected`: The service refused the message before it sent anything. Do not retry.
 */
export type DeliveryStatus = 'delivered' | 'bounced' | 'rejected'

/**
 * Why a message was bounced or rejected.
 *
 * - `mailbox_full`: Bounce: the recipient's mailbox is over its quota.
 * - `mailbox_does_not_exist`: Bounce: the recipient's server does not know the address.
 * - `no_mx_record`: Bounce: the recipient's domain does not exist or has no server that accepts mail.
 * - `connection_timeout`: Bounce: no server of the recipient was reached, or none reached the final dot in time. With
 *   `in_doubt`, the reply to the final dot was lost; without it, the outcome has `retryable`.
 * - `policy_block`: Bounce: the recipient's server refused the message by policy, for example because of a block list,
 *   authentication, size or relaying. This reason is an addition to those every client knows; handle an unknown reason
 *   as a plain bounce.
 * - `spam_blocked`: Bounce: the recipient's server classified the content as spam or a virus. This reason is an
 *   addition, like `policy_block`.
 * - `temporary_failure`: Bounce: the recipient's server refused the message for now (4xx, greylisting, rate limit), or
 *   the service stopped before the message was complete. It always has `retryable`. This reason is an addition, like
 *   `policy_block`.
 * - `suppression_list`: Rejection: the address is on a suppression list.
 * - `invalid_address`: Rejection: the address can never receive mail, because its domain has a null MX, only private or
 *   reserved exchangers, or a special-use top-level domain.
 * - `domain_not_verified`: Rejection: the sending domain belongs to the account but is not verified, or is no longer
 *   verified.
 */
export type Reason = BounceReason | RejectionReason

/** Reasons of a bounce. */
export type BounceReason = 'mailbox_full' | 'mailbox_does_not_exist' | 'no_mx_record' | 'connection_timeout' | 'policy_block' | 'spam_blocked' | 'temporary_failure'

/** Reasons of a rejection. */
export type RejectionReason = 'suppression_list' | 'invalid_address' | 'domain_not_verified'

/** What the recipient's server said: the evidence for an outcome. */
export interface SmtpEvidence {
  /** Host name of the mail exchanger. */
  mx?: string
  /** IP address that the service connected to. */
  ip?: string
  /** SMTP reply code, such as 250 or 550. Absent when there was no reply. */
  code?: number
  /** Enhanced status code (RFC 3463), such as `5.1.1`. Absent when the server sent none. */
  enhanced?: string
  /** Text of the reply in one line, at most 1,024 bytes, without control characters. */
  reply?: string
  /** Phase that the conversation reached. */
  phase: SmtpPhase
  /** TLS session, or `null` when the conversation was not encrypted. */
  tls: Tls | null
  /** Time from the beginning of the send, its MX look-up included, to the outcome, in milliseconds. */
  duration_ms: number
  /**
   * Why the conversation ended when no reply says so, such as `ECONNREFUSED 192.0.2.1` or `MTA-STS demands TLS with a
   * valid certificate: CERT_HAS_EXPIRED`.
   */
  detail?: string
  /** How long each phase took. */
  timings?: SmtpTimings
  /**
   * True when the message went over a connection that an earlier message or transaction had used, or that was opened
   * ahead.
   */
  reused?: boolean
  /** The other tries, in their order: before the one that decided, or after it when they were no better. */
  tried?: TriedHost[]
  /**
   * How the service read a refusal: what the reply speaks of (`session`, `sender`, `message`, `space`, `mailbox` or
   * `route`), and in brackets the rule that decided, such as `sender (rate)`. Rules may be renamed: show this, do not
   * parse it.
   */
  read_as?: string
  /**
   * Number of the SMTP transaction in the message, from 1 on. Recipients with the same number were in one transaction
   * and share its fate from DATA on, unless a refusal named one of them. Present when the message has several
   * recipients and the server was asked for a transaction.
   */
  transaction?: number
  /**
   * Which part of the reply decided how it was read. Present with `read_as`, unless no reply decided: a recipient that
   * the server was not asked about alone.
   */
  decided_by?: DecidedBy
  /** The phrase of the reply that decided. Present when words decided. */
  words?: string
}

/**
 * Phase that the conversation with the recipient's server had reached when the outcome was known.
 *
 * - `dns`: Looking up the domain's mail exchangers.
 * - `connect`: Opening the TCP connection.
 * - `greeting`: Waiting for the server's first line.
 * - `ehlo`: EHLO or HELO.
 * - `starttls`: STARTTLS and the TLS handshake.
 * - `mail`: MAIL FROM.
 * - `rcpt`: RCPT TO of this recipient.
 * - `data`: DATA and the content.
 * - `dot`: Reply to the final dot.
 * - `after_dot`: The final dot was sent and no reply to it was read: the outcome is in doubt.
 * - `late`: None: a report came back after the conversation. Only evidence for a report has this phase.
 */
export type SmtpPhase = 'dns' | 'connect' | 'greeting' | 'ehlo' | 'starttls' | 'mail' | 'rcpt' | 'data' | 'dot' | 'after_dot' | 'late'

/** TLS session that carried a message. */
export interface Tls {
  /** Protocol version, such as `TLSv1.3`. */
  version: string
  /**
   * True when the certificate was proved to be the server's. Delivery depends on it only when the TLSA records of the
   * server, the recipient's MTA-STS policy or the sending domain require it.
   */
  verified: boolean
  /**
   * What proved the certificate: `dane` (the TLSA records of the server), `mta-sts` (the policy of the recipient's
   * domain, and a public authority) or `pkix` (a public authority alone). Present when `verified` is true.
   */
  by?: string
}

/**
 * How long each phase of a send took, in milliseconds, to a tenth. A phase is absent when the send did not reach it, or
 * did not need it because a connection was already open. With several tries a phase is the sum of them all. The rest of
 * `duration_ms` went into the checks before, and into waiting for a connection.
 */
export interface SmtpTimings {
  /** Looking up the domain's mail exchangers and their policy. */
  dns?: number
  /** Opening the TCP connection. */
  connect?: number
  /** Waiting for the server's first line. */
  greeting?: number
  /** EHLO or HELO. */
  ehlo?: number
  /** STARTTLS and the TLS handshake. */
  starttls?: number
  /** MAIL FROM. */
  mail?: number
  /** RCPT TO of this recipient. */
  rcpt?: number
  /** DATA, until the server asked for the content. */
  data?: number
  /** Sending the content, storing that the final dot is due, and waiting for the reply to it. */
  dot?: number
  /**
   * The service's own waits: for a free connection, for its database, and while it was busy. Those during a phase count
   * in that phase, too. They never count as the server's silence.
   */
  own?: number
}

/** A try that did not decide. */
export interface TriedHost {
  /** Host name of the mail exchanger. */
  mx: string
  /** IP address that the service connected to. Absent when the name has no address. */
  ip?: string
  /** Phase that the conversation reached. */
  phase: SmtpPhase
  /**
   * Why the try failed: the reply, such as `452 4.5.3 too many recipients`, or the fault of the connection, such as
   * `ECONNREFUSED 192.0.2.1`. It begins with `on a kept connection:` when a connection from an earlier message or
   * transaction turned out to be closed or spent; the same host is then tried again. It ends with `: TLS was never
   * offered` when the server refused EHLO and took HELO, which may be how the conversation that decided began.
   */
  detail: string
}

/**
 * Which part of a reply or report decided how it was read.
 *
 * - `words`: Its words: see `words`.
 * - `status`: Its enhanced status code.
 * - `code`: Nothing but its reply code.
 * - `report`: The report is a complaint.
 */
export type DecidedBy = 'words' | 'status' | 'code' | 'report'

/** Outcome of one recipient of a message. */
export type RecipientOutcome = ByStatus<RecipientOutcomeFields, BounceReason, RejectionReason>

interface RecipientOutcomeFields {
  /** Address of the recipient, with its domain as A-labels. */
  email: string
  /** Terminal state of the recipient. */
  status: DeliveryStatus
  /** Reason of the outcome. Present when `status` is `bounced` or `rejected`. */
  reason?: Reason
  /** Evidence for the outcome. Present when a server or its DNS was asked. */
  smtp?: SmtpEvidence
  /**
   * True when you may send the message to this recipient again, as a new send with `retry_of`: after
   * `temporary_failure`, and after `connection_timeout` that is not in doubt. The service itself never retries.
   */
  retryable?: boolean
  /**
   * True when the reply to the final dot was lost: the message may or may not have arrived. The service never sends it
   * again.
   */
  in_doubt?: boolean
  /**
   * The suppression entry that blocked the recipient. Present when `reason` is `suppression_list`, except for the
   * simulator's address.
   */
  suppression?: Suppression
  /**
   * Why the recipient was rejected and what to do about it. It begins with "a fault of this service" when a fault of
   * the service kept it from sending to the recipient, although other recipients of the message have an outcome:
   * nothing was sent to this one, and no server decided on it.
   */
  detail?: string
  /** Field of the request that the recipient was given in. */
  kind: RecipientKind
}

/** The suppression entry that blocked a recipient. */
export interface Suppression {
  /** Which sends the entry applies to. */
  scope: SuppressionScope
  /** What created the entry. */
  cause: SuppressionReason
  /** When the address was suppressed. */
  since: string
}

/**
 * Which sends a suppression entry applies to.
 *
 * - `global`: All sends of all accounts.
 * - `account`: All sends of the account.
 * - `tenant`: Sends of the account with the entry's `tenant_id`.
 */
export type SuppressionScope = 'global' | 'account' | 'tenant'

/**
 * What created a suppression entry.
 *
 * - `bounce`: A message to the address bounced: the mailbox does not exist, or refused mail or was full several times.
 * - `complaint`: The recipient complained about a message.
 * - `import`: The address was imported.
 * - `manual`: The address was added by hand.
 */
export type SuppressionReason = 'bounce' | 'complaint' | 'import' | 'manual'

/**
 * Field of the request that a recipient was given in. An address in several fields counts once, in the first of `to`,
 * `cc` and `bcc`.
 *
 * - `to`: `to`.
 * - `cc`: `cc`.
 * - `bcc`: `bcc`: no copy of the message names this recipient.
 */
export type RecipientKind = 'to' | 'cc' | 'bcc'

/** One check of a dry run. */
export interface Check {
  /**
   * Name of the check: `payload`, `domain`, `warm_up`, `quota`, `breaker`, `address`, `suppression` or `recipient_mx`.
   */
  name: string
  /** True when the check found nothing against the send. */
  passed: boolean
  /** What the check found, in words. */
  detail?: string
}

/** The messages to send. */
export interface SendBatchRequest {
  /** 1 to 100 messages. In JSON the body may also be this list alone. */
  emails: BatchItem[]
}

/** One message of a batch: the fields of a send, and its own idempotency key. */
export interface BatchItem {
  /**
   * Recipients, at least one: `ann@example.com` or `Ann <ann@example.com>`. In JSON a single string is also accepted.
   * `to`, `cc` and `bcc` hold at most 50 distinct addresses together. An address in several fields is one recipient, of
   * the first of them. Letters beyond ASCII before the `@` need a server that offers SMTPUTF8.
   */
  to: string | string[]
  /**
   * Sender address, `a@example.com` or `Name <a@example.com>`. The message is rejected unless its domain is a verified
   * domain of the account. With `raw` it may be absent; otherwise it has the address of the From header.
   */
  from?: string | null
  /**
   * Subject, 1 to 998 characters. Required without `raw`. Encoded words (RFC 2047) are decoded, and spaces at the end
   * are dropped.
   */
  subject?: string | null
  /** HTML body, at most 2 MiB. One of `html`, `text` and `raw` is required. */
  html?: string | null
  /** Plain-text body, at most 2 MiB. One of `html`, `text` and `raw` is required. */
  text?: string | null
  /** Reply-To addresses, at most 10, with or without display names. In JSON a single string is also accepted. */
  reply_to?: string | string[] | null
  /** Files to attach, at most 10. */
  attachments?: Attachment[] | null
  /**
   * Custom headers, at most 50, each at most 998 characters long, `References` and `In-Reply-To` at most 8,192. Headers
   * that the service writes itself are refused: From, To, Subject, Date, Message-ID, Content-* and others.
   */
  headers?: Record<string, string> | null
  /**
   * Your own identifier for one of your customers, 1 to 128 printable characters. Each tenant has its own suppression
   * list, and you can filter events and statistics by tenant.
   */
  tenant_id?: string | null
  /**
   * Idempotency key of this message, 1 to 256 printable ASCII characters. It works like the header `Idempotency-Key` of
   * a send and shares its keys. By default the key is derived from the header of the batch, if the batch has one.
   */
  idempotency_key?: string | null
  /** Recipients whom the message names in its Cc header. The format is that of `to`. */
  cc?: string | string[] | null
  /** Recipients whom no copy of the message names. The format is that of `to`. */
  bcc?: string | string[] | null
  /**
   * Your own data about the message: at most 20 pairs. A key has 1 to 40 characters of `A-Z a-z 0-9 _ . -`, a value at
   * most 500 characters, all of them together at most 4,096 bytes. It comes back in Get email, lists, events and
   * webhooks, and is in no header of the message.
   */
  metadata?: Record<string, string> | null
  /**
   * Your own name for a group of messages, 1 to 100 printable characters. It comes back where `metadata` does, and
   * filters lists of emails and events.
   */
  tag?: string | null
  /**
   * `message_id` of an earlier message that this one sends again. Each recipient must have ended `retryable` there, and
   * can be retried once. The account, `tenant_id`, the domain of `from` and the mode (live or dry run) must be the
   * same. A chain of retries ends 7 days after its first message. The message keeps the envelope sender of the first
   * one, so that mail servers which make unknown senders wait (greylisting) accept it.
   */
  retry_of?: string | null
  /** Makes the plain-text body from the HTML, where `text` is absent. */
  auto_text?: boolean | null
  /**
   * A whole message (RFC 5322) that your software has built, with CRLF line ends, in JSON as base64. It replaces
   * `subject`, `html`, `text`, `attachments`, `headers`, `reply_to` and `auto_text`. `to`, `cc` and `bcc` decide who
   * gets it; its To and Cc headers stay as they are. It has one From address, of a verified domain. The service removes
   * Bcc, Resent-Bcc and Return-Path, adds Date and Message-ID where they are absent, and signs it. It re-encodes
   * nothing.
   */
  raw?: string | null
}

/** The results of a batch. */
export interface SendBatchResponse {
  /** One result for each message, in the order of the request. */
  results: BatchResult[]
  /** How many messages ended in each state. */
  summary?: BatchSummary
}

/** The result of one message: either the response of a send, with `status`, or an error, with `error`. */
export type BatchResult = ByResult<BatchResultFields, BounceReason, RejectionReason>

interface BatchResultFields {
  /** Position of the message in the request, starting at 0. */
  index: number
  /**
   * Terminal state of the message. With several recipients it is the worst of theirs: `bounced`, then `rejected`, then
   * `delivered`. Absent when there is an `error`.
   */
  status?: DeliveryStatus
  /** Identifier of the message: `msg_` and 26 characters. Absent when there is an `error`. */
  message_id?: string
  /** Reason of the first recipient with this `status`. Present when `status` is `bounced` or `rejected`. */
  reason?: Reason
  /**
   * True when you may send the message again as a new send: see `RecipientOutcome`. With several recipients, see each
   * of `recipients`.
   */
  retryable?: boolean
  /**
   * True when the reply to the final dot was lost for at least one recipient: the message may or may not have arrived.
   * The service never sends it again.
   */
  in_doubt?: boolean
  /**
   * Evidence for the only recipient: what its mail server or its DNS said. Absent when neither was asked. With several
   * recipients, see each of `recipients`.
   */
  smtp?: SmtpEvidence
  /** Outcome of each recipient. Present when the message has more than one. */
  recipients?: RecipientOutcome[]
  /** True when this was a dry run and nothing was sent. */
  sandbox?: boolean
  /**
   * In a dry run, the checks in the order they ran. A check that did not pass decided the outcome of its recipients.
   */
  checks?: Check[]
  /**
   * The suppression entry that blocked the only recipient. Present when `reason` is `suppression_list`, except for the
   * simulator's address.
   */
  suppression?: Suppression
  /** Error code of a message that has no outcome. Nothing was sent. Absent when there is a `status`. */
  error?: ErrorReason
  /** What is wrong, in words. Present with `error`. */
  message?: string
  /** Seconds to wait before you try again. Present when `error` is `rate_limit_exceeded`. */
  retry_after?: number
  /** The invalid fields, by their path within the message, such as `attachments[0].content`. */
  details?: FieldFault[]
  /** Why the only recipient was rejected and what to do about it. With several recipients, see each of `recipients`. */
  detail?: string
}

/**
 * Why a call failed.
 *
 * - `invalid_payload`: 400: the JSON is malformed, or a field is missing, unknown, of the wrong type or too large.
 *   `details` names the field.
 * - `invalid_address`: 400: an address does not parse. `details` names the field.
 * - `invalid_api_key`: 401: the API key is missing, unknown, revoked or expired.
 * - `domain_not_verified`: 403: the From domain is not a domain of the account.
 * - `insufficient_scope`: 403: the API key lacks the scope of this call. Test keys can only send dry runs and read.
 * - `not_found`: 404: the path does not exist, or the account has no such message, event, domain, endpoint or
 *   suppression entry.
 * - `method_not_allowed`: 405: the path exists, but does not support this method. The header `Allow` lists the
 *   supported ones.
 * - `event_expired`: 410: the id is older than 90 days, which is how long messages and events are kept.
 * - `payload_too_large`: 413: the request is larger than 15 MiB.
 * - `unsupported_media_type`: 415: the body is not JSON in UTF-8, or it is compressed. gRPC and Connect accept gzip,
 *   and no other compression.
 * - `transient_failure`: 500: a fault of the service. Nothing was sent, and it is safe to retry.
 * - `rate_limit_exceeded`: 429: the requests per minute are used up, the domain's warm-up or circuit breaker allows no
 *   more, or too many lists, counts, statistics or imports of the account run at the same time. Wait `retry_after`
 *   seconds.
 * - `webhook_not_configured`: 409: the account has no webhook endpoint.
 */
export type ErrorReason = 'invalid_payload' | 'invalid_address' | 'invalid_api_key' | 'domain_not_verified' | 'insufficient_scope' | 'not_found' | 'method_not_allowed' | 'event_expired' | 'payload_too_large' | 'unsupported_media_type' | 'transient_failure' | 'rate_limit_exceeded' | 'webhook_not_configured'

/** An invalid field of a request. */
export interface FieldFault {
  /** Path of the field in JSON, such as `to[1]`, `attachments[0].content` or `headers["X-Order"]`. */
  field: string
  /** What is wrong with the field. */
  message: string
}

/** How many messages of a batch ended in each state. The other four fields add up to `total`. */
export interface BatchSummary {
  /** Messages in the request. */
  total: number
  /** Results with `status` `delivered`. */
  delivered: number
  /** Results with `status` `bounced`. */
  bounced: number
  /** Results with `status` `rejected`. */
  rejected: number
  /** Results with an `error`. */
  failed: number
}

/**
 * What a later report says.
 *
 * - `late_bounce`: A mail server accepted the email and then could not deliver it.
 * - `complaint`: The recipient complained, for example by marking the email as spam.
 */
export type FeedbackKind = 'late_bounce' | 'complaint'

/** One page of emails. */
export interface ListEmailsResponse {
  /**
   * The emails, newest `createdAt` first; emails of the same millisecond are ordered by id. A search stops after a
   * second: where filters find few of very many emails, a page has fewer than `limit`, or none, and `next_cursor` goes
   * on.
   */
  emails: ListedEmail[]
  /** Cursor of the next page. Absent on the last page. */
  next_cursor?: string
  /** True when there is a next page. */
  has_more: boolean
}

/**
 * An email as a list shows it. Get email has its evidence, events and headers. In JSON its own timestamps are camelCase
 * (`createdAt`), like those of Get email.
 */
export type ListedEmail = ByStatus<ListedEmailFields, BounceReason, RejectionReason>

interface ListedEmailFields {
  /** Identifier of the message: `msg_` and 26 characters. */
  message_id: string
  /** Terminal state of the message. */
  status: DeliveryStatus
  /** Reason of the first recipient with this `status`. Present when `status` is `bounced` or `rejected`. */
  reason?: Reason
  /** Sender, as given in the request. */
  from: string
  /** Subject. */
  subject: string
  /** Outcome of each recipient. */
  recipients: ListedRecipient[]
  /** Tag given with the send. */
  tag?: string
  /** Metadata given with the send. */
  metadata?: Record<string, string>
  /** Tenant given with the send. */
  tenant_id?: string
  /** True when this was a dry run. */
  sandbox: boolean
  /** When the send was accepted. */
  createdAt: string
  /** When the outcome was recorded. */
  completedAt: string
  /**
   * True when the reply to the final dot was lost for at least one recipient: the message may or may not have arrived.
   */
  in_doubt?: boolean
  /** Bounces and complaints that came back after the outcome, oldest first. They never change `status`. */
  feedback: ListedFeedback[]
}

/** A recipient and its outcome, as a list shows them. */
export type ListedRecipient = ByStatus<ListedRecipientFields, BounceReason, RejectionReason>

interface ListedRecipientFields {
  /** Address of the recipient. */
  email: string
  /** Field of the request that the recipient was given in. */
  kind: RecipientKind
  /** Terminal state of the recipient. */
  status: DeliveryStatus
  /** Reason of the outcome. Present when `status` is `bounced` or `rejected`. */
  reason?: Reason
  /** True when the reply to the final dot was lost: the message may or may not have arrived. */
  in_doubt?: boolean
  /** Host name of the mail exchanger that decided the outcome. Absent when none was asked. */
  mx?: string
}

/** A report that came back after the outcome, as a list shows it. Get email has its text and how it was read. */
export interface ListedFeedback {
  /** Kind of report. */
  kind: FeedbackKind
  /** Reason of the bounce, as far as the report says it. Absent for a complaint. */
  reason?: Reason
  /** When the service received the report. */
  reported_at: string
  /** Address of the recipient that the report is about. */
  recipient: string
  /** True when a mailbox other than the recipient's failed, such as a member of a list or alias. */
  member?: boolean
}

/** A stored email. In JSON its own timestamps are camelCase (`createdAt`), unlike those of all other messages. */
export type GetEmailResponse = ByStatus<GetEmailResponseFields, BounceReason, RejectionReason>

interface GetEmailResponseFields {
  /** Identifier of the message: `msg_` and 26 characters. */
  message_id: string
  /** Terminal state of the message. */
  status: DeliveryStatus
  /** Reason of the first recipient with this `status`. Present when `status` is `bounced` or `rejected`. */
  reason?: Reason
  /** Sender, as given in the request. */
  from: string
  /** The recipients of `to`, each `ann@example.com` or `Ann <ann@example.com>`, with its domain as A-labels. */
  to: string[]
  /** Reply-To. Several addresses are separated by commas, as in the header of the message. */
  reply_to?: string
  /** Subject. */
  subject: string
  /** Custom headers. */
  headers: Record<string, string>
  /** Tenant given with the send. */
  tenant_id?: string
  /** True when this was a dry run. */
  sandbox: boolean
  /** True when the reply to the final dot was lost: the message may or may not have arrived. */
  in_doubt?: boolean
  /**
   * Size of the message as sent over SMTP, headers included, in bytes. 0 when no message was built, or the service
   * stopped during the send.
   */
  size_bytes: number
  /** The attachments, without their content. */
  attachments: StoredAttachment[]
  /** Outcome and evidence of each recipient. */
  recipients: RecipientOutcome[]
  /** The events of the outcomes, one for each recipient. The events of `feedback` are in the list of events. */
  events: EmailEvent[]
  /** When the send was accepted. */
  createdAt: string
  /** When the outcome was recorded. */
  completedAt: string
  /** When the stored email is deleted: 90 days after `createdAt`. */
  expiresAt: string
  /** HTML body. Kept only when the operator stores content. */
  html?: string
  /** Plain-text body. Kept only when the operator stores content. */
  text?: string
  /** Bounces and complaints that came later, oldest first. */
  feedback: Feedback[]
  /** The recipients of `cc`, in the format of `to`. */
  cc?: string[]
  /** The recipients of `bcc`, in the format of `to`. */
  bcc?: string[]
  /** Metadata given with the send. */
  metadata?: Record<string, string>
  /** Tag given with the send. */
  tag?: string
  /** `message_id` of the message that this one retries, as given with the send. */
  retry_of?: string
  /**
   * `message_id` of the messages that retry recipients of this one, oldest first. A send that is still running is among
   * them.
   */
  retried_by?: string[]
  /** True when the plain-text body was to be made from the HTML. */
  auto_text?: boolean
  /** True when the message was given whole, as `raw`. `subject`, `attachments` and the bodies are then read from it. */
  raw?: boolean
}

/** An attachment of a stored email. Its content is not kept. */
export interface StoredAttachment {
  /** File name. */
  filename: string
  /** Media type, with the parameters that it was given. */
  content_type: string
  /** Size of the decoded content, in bytes. */
  size_bytes: number
  /** The id by which the HTML refers to the file. Absent for a file that is attached. */
  content_id?: string
}

/** The event of one recipient, as Get email lists it. */
export interface EmailEvent {
  /** Identifier of the event: `evt_` and 26 characters. */
  event_id: string
  /** Terminal state that the event reports. */
  status: DeliveryStatus
  /** Address of the recipient. */
  recipient: string
  /** When the outcome was recorded. */
  timestamp: string
}

/**
 * A report that came back after the outcome. It never changes the outcome. A recipient has at most one report of each
 * kind.
 */
export interface Feedback {
  /** Kind of report. */
  kind: FeedbackKind
  /** Reason of the bounce, as far as the report says it. Absent for a complaint. */
  reason?: Reason
  /** When the service received the report. */
  reported_at: string
  /** Address of the recipient that the report is about. */
  recipient: string
  /** Text from the report: the mail server's reply for a bounce, the type of complaint for a complaint. */
  detail?: string
  /**
   * True when a mailbox other than the recipient's failed, such as a member of a list or alias. Such a failure says
   * nothing of the recipient and never suppresses it.
   */
  member?: boolean
  /** How the report was read. Absent for a report that an earlier version stored. */
  evidence?: Evidence
}

/** What an entry of the suppression list, or a later report, rests on. */
export interface Evidence {
  /** What it says against the address. Absent when it says nothing against it. */
  kind?: EvidenceKind
  /** What decided. Absent when nothing could be read. */
  decided_by?: DecidedBy
  /** The phrase that decided, as the reply or report has it. Present when words decided. */
  words?: string
  /** SMTP reply code. Absent when no reply is quoted. */
  code?: number
  /** Enhanced status code (RFC 3463), such as `5.1.1`. */
  enhanced?: string
  /** Text of the reply in one line, at most 1,024 bytes. Absent when no reply is quoted. */
  reply?: string
  /** How the service read it: see `SmtpEvidence`. */
  read_as?: string
  /** Phase that the reply belongs to, `late` for a report. Absent for a complaint. */
  phase?: SmtpPhase
  /** When the account last delivered an email to the address, in the 90 days before. Absent when it did not. */
  last_delivered_at?: string
}

/**
 * What a reply or report says against an address. The kind, and what was delivered before, decide how many replies or
 * reports suppress the address, and for how long.
 *
 * - `complaint`: The recipient complained.
 * - `unknown`: Without doubt there is no such mailbox or user.
 * - `status`: The status code says that there is no such mailbox or user, and the service does not know the words
 *   beside it.
 * - `refused`: The mailbox does not take mail, and may exist.
 * - `full`: The mailbox has no space.
 */
export type EvidenceKind = 'complaint' | 'unknown' | 'status' | 'refused' | 'full'

/** One page of refused sends. */
export interface ListRefusedSendsResponse {
  /** The refused sends, newest first. */
  refused_sends: RefusedSend[]
  /**
   * How many entries of the account's last 7 days were not stored, because there were too many or the database did not
   * take them. Filters do not change it.
   */
  not_stored: number
  /** Cursor of the next page. Absent on the last page. */
  next_cursor?: string
  /** True when there is a next page. */
  has_more: boolean
}

/** A send that ended with an error before there was an email, or several equal ones of a minute. */
export interface RefusedSend {
  /**
   * The id of the request, as in its response. For a message of a batch it is that of the batch. A program over SMTP
   * does not get it.
   */
  request_id: string
  /** When the send was refused. */
  at: string
  /** The status that the error has on REST, whatever protocol the caller spoke. */
  status: number
  /** The error. */
  error: ErrorReason
  /** What the error says, without values of the request. */
  message: string
  /** The faulty fields of the request, without their places in lists. Fields that do not exist are not among them. */
  fields: string[]
  /** Address of the sender, where it could be read. */
  from?: string
  /** Addresses of the recipients, where they could be read: the first 50. Empty when the body was not read. */
  recipients: string[]
  /** Id of the API key. */
  key_id?: string
  /** How the request came: `rest`, `grpc`, `grpc-web`, `connect`, `smtp` or `lmtp`. */
  protocol: string
  /** How many equal sends were refused within a minute of this one, which was the first. */
  count: number
}

/** A signed receipt. */
export interface GetReceiptResponse {
  /**
   * JSON Web Signature in its compact form (RFC 7515). Its header has `alg` `EdDSA`, `typ` `verdict-receipt+jwt`, and
   * in `kid` the id of the key that signed.
   *
   * Its claims are: `iss`, the public URL of this service; `sub`, the `message_id`; `iat`, when the receipt was signed;
   * `from_domain`, the domain of the sender; `created_at`, when the send was accepted; `digest`, `sha-256:` and the
   * SHA-256 in hex of the message as it went out, absent when nothing went out; `sandbox`, true for a dry run; and
   * `recipients`, a list with the `email`, `kind` and `status` of each recipient, `at`, when its outcome was recorded,
   * and where they apply `reason`, `in_doubt`, `mx`, `ip`, `code`, `enhanced`, `reply` and `tls`. They mean the same as
   * in Get email.
   */
  receipt: string
}

/** One page of events. */
export interface ListEventsResponse {
  /**
   * The events, newest `timestamp` first; events of the same millisecond are ordered by id. An event never changes its
   * place in the list. A search stops after a second: where filters find few of very many events, a page has fewer than
   * `limit`, or none, and `next_cursor` goes on.
   */
  events: Event[]
  /** Cursor of the next page. Absent on the last page. */
  next_cursor?: string
  /** True when there is a next page. */
  has_more: boolean
}

/** An event: the terminal state of one recipient of a message, or a later report about that recipient. */
export type Event = ByEvent<EventFields, BounceReason, RejectionReason>

interface EventFields {
  /** Identifier of the event: `evt_` and 26 characters. */
  event_id: string
  /** Identifier of the message. */
  message_id: string
  /** Terminal state of the recipient. */
  status: DeliveryStatus
  /** When the outcome was recorded. */
  timestamp: string
  /**
   * Reason of the outcome. Present when `status` is `bounced` or `rejected`. For a feedback event, the reason that the
   * report gives.
   */
  reason?: Reason
  /** Address of the recipient. */
  recipient: string
  /** Tenant given with the send. */
  tenant_id?: string
  /** True when the event comes from a dry run. */
  sandbox: boolean
  /** Number of attempts made to push the event to the webhook endpoints, including those of replays. */
  attempts: number
  /**
   * When the last of the endpoints first acknowledged the event: of each endpoint that exists and that the event was
   * dispatched to, its first acknowledgement counts. Absent until all of them have acknowledged it.
   */
  acknowledged_at?: string
  /** Kind of event: `email.delivery` for an outcome, `email.feedback` for a later report about it. */
  event: string
  /** Field of the request that the recipient was given in. */
  kind: RecipientKind
  /** What a feedback event reports. Absent for a delivery event. */
  feedback?: FeedbackKind
  /**
   * Text of the report: the mail server's reply for a late bounce, the type of complaint for a complaint. Of a delivery
   * event: the fault of this service that kept the recipient from being tried.
   */
  detail?: string
  /** Tag given with the send. */
  tag?: string
  /** Metadata given with the send. */
  metadata?: Record<string, string>
  /**
   * Evidence for the outcome. Absent when neither a server nor its DNS was asked. Of a feedback event, what the report
   * quotes and how it was read: `code`, `enhanced`, `reply`, `decided_by` and `words`, with the phase `late`.
   */
  smtp?: SmtpEvidence
  /** True when you may send the message again as a new send: see `RecipientOutcome`. */
  retryable?: boolean
  /** True when the reply to the final dot was lost: the message may or may not have arrived. */
  in_doubt?: boolean
  /**
   * When the next attempt to push the event is due, the earliest one of its dispatches. In the past while that attempt
   * is running. Absent when no attempt follows.
   */
  next_attempt_at?: string
  /** True for a feedback event about another mailbox than that of the recipient: see `Feedback`. */
  member?: boolean
  /**
   * HTTP status of the newest response of an endpoint that has not acknowledged the event. Absent when all have, or
   * when the newest attempt got no response.
   */
  last_status_code?: number
  /** What happened to the newest attempt at an endpoint that has not acknowledged the event, and what to look at. */
  last_detail?: string
  /**
   * Subject of the message. Absent when the message is beyond its retention, and in streams of events, which would have
   * to read the content of each message for it.
   */
  subject?: string
}

/** One event and its dispatches to the webhook endpoints. */
export type GetEventResponse = ByEvent<GetEventResponseFields, BounceReason, RejectionReason>

interface GetEventResponseFields {
  /** Identifier of the event: `evt_` and 26 characters. */
  event_id: string
  /** Identifier of the message. */
  message_id: string
  /** Terminal state of the recipient. */
  status: DeliveryStatus
  /** When the outcome was recorded. */
  timestamp: string
  /**
   * Reason of the outcome. Present when `status` is `bounced` or `rejected`. For a feedback event, the reason that the
   * report gives.
   */
  reason?: Reason
  /** Address of the recipient. */
  recipient: string
  /** Tenant given with the send. */
  tenant_id?: string
  /** True when the event comes from a dry run. Only a replay sends such an event to an endpoint. */
  sandbox: boolean
  /** Number of attempts made to push the event to the webhook endpoints, including those of replays. */
  attempts: number
  /**
   * When the last of the endpoints first acknowledged the event: of each endpoint that exists and that the event was
   * dispatched to, its first acknowledgement counts. Absent until all of them have acknowledged it.
   */
  acknowledged_at?: string
  /**
   * Every run of the retry schedule for this event, oldest first: the original one of each endpoint and the newest 100
   * replays. Empty when the event was never replayed and had no original dispatch, because no endpoint was enabled and
   * asked for such events, or the event comes from a dry run.
   */
  dispatches: Dispatch[]
  /** Kind of event: `email.delivery` for an outcome, `email.feedback` for a later report about it. */
  event: string
  /** Field of the request that the recipient was given in. */
  kind: RecipientKind
  /** What a feedback event reports. Absent for a delivery event. */
  feedback?: FeedbackKind
  /**
   * Text of the report: the mail server's reply for a late bounce, the type of complaint for a complaint. Of a delivery
   * event: the fault of this service that kept the recipient from being tried.
   */
  detail?: string
  /** Tag given with the send. */
  tag?: string
  /** Metadata given with the send. */
  metadata?: Record<string, string>
  /** Evidence for the outcome. Absent when neither a server nor its DNS was asked, and for a feedback event. */
  smtp?: SmtpEvidence
  /** True when you may send the message again as a new send: see `RecipientOutcome`. */
  retryable?: boolean
  /** True when the reply to the final dot was lost: the message may or may not have arrived. */
  in_doubt?: boolean
  /**
   * When the next attempt to push the event is due, the earliest one of its dispatches. In the past while that attempt
   * is running. Absent when no attempt follows.
   */
  next_attempt_at?: string
  /**
   * HTTP status of the newest response of an endpoint that has not acknowledged the event. Absent when all have, or
   * when the newest attempt got no response.
   */
  last_status_code?: number
  /** What happened to the newest attempt at an endpoint that has not acknowledged the event, and what to look at. */
  last_detail?: string
  /** Subject of the message. Absent when the message is beyond its retention. */
  subject?: string
}

/**
 * One run of the retry schedule for one event and one endpoint: up to six attempts, until the endpoint responds with
 * 200. When each of them fails at once, the last one is made after 7.5 hours. No attempt starts later than 24 hours
 * after the event.
 */
export interface Dispatch {
  /**
   * Identifier of the dispatch: `dsp_` and 26 characters. Its requests carry it in the header `Service-Dispatch-Id`.
   */
  dispatch_id: string
  /** What created the dispatch. */
  kind: DispatchKind
  /** Current state of the dispatch. */
  state: DispatchState
  /** When the dispatch was created. */
  created_at: string
  /** When the dispatch ended. Absent while it is `waiting`. */
  ended_at?: string
  /**
   * Identifier of the Temporal workflow that makes its attempts. Absent until a workflow is needed; the first attempt
   * usually needs none.
   */
  workflow_id?: string
  /**
   * Link to that workflow in the Temporal UI. Absent when the operator has not configured where the UI is, and when
   * Temporal no longer has the workflow.
   */
  workflow_url?: string
  /** When the next attempt is due. Absent while an attempt is running, and when no attempt follows. */
  next_attempt_at?: string
  /** The finished attempts, in order. */
  attempts: Attempt[]
  /**
   * Identifier of the endpoint that the event is pushed to: `whk_` and 26 characters. It may have been deleted since.
   */
  endpoint_id: string
  /** Until when Temporal keeps that workflow. Absent while the workflow runs, and when Temporal does not say. */
  workflow_kept_until?: string
}

/**
 * What created a dispatch.
 *
 * - `original`: Created together with the event.
 * - `replay`: Created by a replay.
 */
export type DispatchKind = 'original' | 'replay'

/**
 * State of a dispatch.
 *
 * - `waiting`: An attempt is running, or the next one is due later.
 * - `acknowledged`: The endpoint responded with 200.
 * - `exhausted`: The last attempt failed, or 24 hours have passed. Replay the event to try again.
 * - `cancelled`: The endpoint was deleted, or an operator cancelled the workflow.
 */
export type DispatchState = 'waiting' | 'acknowledged' | 'exhausted' | 'cancelled'

/** One POST of an event to the endpoint. */
export interface Attempt {
  /**
   * Number of the attempt within its dispatch, starting at 1. Its request carries it in the header `Service-Attempt`.
   * An attempt whose outcome is `unknown` is repeated under the same number.
   */
  number: number
  /** When the attempt started. */
  started_at: string
  /** When the attempt finished. Absent when its outcome is `unknown`. */
  finished_at?: string
  /** Outcome of the attempt. */
  outcome: AttemptOutcome
  /** HTTP status code of the response. Absent when there was none. */
  status_code?: number
  /** Duration of the attempt, in milliseconds. */
  duration_ms?: number
  /** Duration of each phase of the attempt. */
  phases?: AttemptPhases
  /** Beginning of the response's body, at most 1,024 bytes. */
  response_excerpt?: string
  /** True when the body is longer than the excerpt. */
  response_cut?: boolean
  /** What happened, and the cause if it is known. Absent when the outcome is `acked`. */
  detail?: string
  /**
   * What the attempt posted, or would have posted if it had got a connection. Absent when the outcome is `unknown`, and
   * when the rows of the event are no longer stored.
   */
  request?: AttemptRequest
}

/**
 * Outcome of one attempt.
 *
 * - `acked`: The endpoint responded with 200: it has the event.
 * - `dns`: The name of the endpoint's host was not found.
 * - `blocked`: The endpoint's URL or address is not allowed, for example because the address is not public.
 * - `tls`: TLS failed. `detail` says why, if the cause is known: for example a certificate that is not valid for the
 *   host.
 * - `connect`: No connection was made, it broke before the response, or the response was not HTTP.
 * - `timeout_head`: The status line and headers of the response did not arrive in time.
 * - `timeout_body`: The response was not 200, and its body did not end in time.
 * - `not_200`: The response had a status outside of 200 to 299: a redirect, a refusal or a server error.
 * - `success_but_not_200`: The response had a status of 201 to 299, such as 204. Only 200 acknowledges an event.
 * - `unknown`: The service stopped during the attempt. The endpoint may or may not have the event, and receives it
 *   again.
 */
export type AttemptOutcome = 'acked' | 'dns' | 'blocked' | 'tls' | 'connect' | 'timeout_head' | 'timeout_body' | 'not_200' | 'success_but_not_200' | 'unknown'

/**
 * Duration of each phase of an attempt, in milliseconds, to a tenth. A phase is absent when the attempt did not reach
 * it, or did not need it because a connection was already open.
 */
export interface AttemptPhases {
  /** Resolving the host name. */
  dns_ms?: number
  /** Opening the TCP connection. */
  connect_ms?: number
  /** TLS handshake. */
  tls_ms?: number
  /** Sending the request and waiting for the headers of the response. */
  head_ms?: number
  /** Reading the body of the response. */
  body_ms?: number
}

/** The request of one attempt. An address that was erased since is erased here too. */
export interface AttemptRequest {
  /**
   * URL that the attempt was posted to. The values of its query are masked. Absent without the scope `webhooks.read`,
   * and when the URL was replaced more than 90 days ago.
   */
  url?: string
  /**
   * Headers of the request. Signatures are shown as `(signed)`. The headers of the connection and of a trace, and the
   * signature of a previous secret, are left out.
   */
  headers: Record<string, string>
  /** Body of the request: the exact text that was signed. */
  body: string
}

/** The events after a position. */
export interface ListChangesResponse {
  /** The events, oldest first. */
  events: EventChange[]
  /** Where to resume, at most 100 characters. It may be after the last event: events that do not match are skipped. */
  position: string
  /** True when more events may be there already: call again at once. */
  has_more: boolean
}

/** An event and the position after it. */
export interface EventChange {
  /** The event. Its attempts are those at the time of this response. */
  event?: Event
  /** Where to resume after this event, at most 100 characters. */
  position: string
}

/** The event to replay. */
export interface ReplayEventRequest {
  /** The only endpoint to send it to, also when the endpoint does not ask for it or is disabled. */
  endpoint_id?: string | null
}

/** An accepted replay. */
export interface ReplayEventResponse {
  /** Always true. */
  replayed: boolean
  /** Identifier of the event. */
  event_id: string
  /** Identifier of the message. */
  message_id: string
  /** When the replay was accepted. Its first attempt follows immediately. */
  dispatched_at: string
  /** Identifier of the new dispatch to the oldest endpoint, as listed in `dispatches` of the event. */
  dispatch_id: string
  /** The new dispatches, one for each endpoint, the oldest endpoint first. */
  dispatches: ReplayedDispatch[]
}

/** A dispatch that a replay created. */
export interface ReplayedDispatch {
  /** Identifier of the dispatch, as listed in `dispatches` of the event. */
  dispatch_id: string
  /** Identifier of its endpoint. */
  endpoint_id: string
}

/** The message whose events to replay. */
export interface ReplayMessageRequest {
  /** The only endpoint to send its events to, also when the endpoint does not ask for them or is disabled. */
  endpoint_id?: string | null
}

/** The accepted replays. */
export interface ReplayMessageResponse {
  /** Always true. */
  replayed: boolean
  /** Identifier of the message. */
  message_id: string
  /** Number of replayed events. */
  count: number
  /** The replayed events: outcomes in the order of the message's recipients, then feedback, oldest first. */
  events: ReplayEventResponse[]
}

/** The account's endpoints. */
export interface ListEndpointsResponse {
  /** The endpoints, the oldest first. */
  endpoints: Endpoint[]
}

/**
 * A webhook endpoint. The service pushes the events to it that match every filter. It stores all events, and you can
 * replay those that were not pushed.
 */
export interface Endpoint {
  /** Identifier of the endpoint: `whk_` and 26 characters. */
  endpoint_id: string
  /** URL that receives events. */
  url: string
  /** Your note on the endpoint. Absent when there is none. */
  description?: string
  /** Kinds of events that are pushed. */
  events: string[]
  /** Statuses of the events that are pushed. */
  statuses: DeliveryStatus[]
  /** Tags of the sends whose events are pushed. Absent without this filter. */
  tags?: string[]
  /** Tenants of the sends whose events are pushed. Absent without this filter. */
  tenant_ids?: string[]
  /** Domains of From of the sends whose events are pushed. Absent without this filter. */
  domains?: string[]
  /** True when no events are pushed that are stored from then on. */
  disabled: boolean
  /** True for the endpoint of `/api/v1/webhook`. */
  first: boolean
  /** When the endpoint was added. */
  created_at: string
  /** When a field or the secret last changed. */
  updated_at: string
  /** Secret that signs requests: `whsec_` and base64. Present only in the response of the call that created it. */
  secret?: string
  /** Until when requests are also signed with the previous secret. Absent when there is none. */
  previous_secret_until?: string
  /** Health of the endpoint. */
  health?: WebhookHealth
}

/** Health of an endpoint. An endpoint that fails is never switched off. */
export interface WebhookHealth {
  /** Attempts acknowledged in the current hour and the 23 hours before it. */
  acknowledged: number
  /** Attempts that failed in the same time. */
  failed: number
  /** Fraction of attempts that were acknowledged, 0 to 1. `null` when there were none. */
  success_rate: number | null
  /** When an attempt was last acknowledged. */
  last_success_at?: string
  /** When an attempt last failed. */
  last_failure_at?: string
  /** Attempts that failed since the last acknowledged one. */
  consecutive_failures: number
  /** Dispatches that wait for an attempt. A new event counts when its first attempt has failed or was lost. */
  waiting: number
  /** Since when the oldest of these dispatches has waited. Absent when none waits. */
  oldest_waiting_at?: string
}

/** The endpoint to add. The service pushes the events to it that match every filter. */
export interface CreateEndpointRequest {
  /** URL that receives events, at most 2,048 characters, such as `https://hooks.example.com/email`. */
  url: string
  /** Your note on the endpoint, at most 200 characters, such as `warehouse`. */
  description?: string | null
  /**
   * Kinds of events to push: `email.delivery` for outcomes, `email.feedback` for late bounces and complaints. Default:
   * `["email.delivery"]`.
   */
  events?: ('email.delivery' | 'email.feedback')[] | null
  /**
   * Push only events with one of these statuses. For feedback, it is the status that the recipient had before. Default:
   * all of them.
   */
  statuses?: DeliveryStatus[] | null
  /** Push only events of sends with one of these tags, at most 20. Default: no filter. */
  tags?: string[] | null
  /** Push only events of sends with one of these tenants, at most 20. Default: no filter. */
  tenant_ids?: string[] | null
  /** Push only events of sends whose From has one of these domains, at most 20. Default: no filter. */
  domains?: string[] | null
  /** True to push no event yet: test the endpoint first, then enable it. */
  disabled?: boolean | null
}

/** What to change of an endpoint. Fields that are absent keep their values. */
export interface UpdateEndpointRequest {
  /** URL that receives events. */
  url?: string | null
  /** Your note on the endpoint, at most 200 characters. An empty one removes it. */
  description?: string | null
  /** Kinds of events to push: `email.delivery`, `email.feedback` or both. */
  events?: ('email.delivery' | 'email.feedback')[] | null
  /** Push only events with one of these statuses. */
  statuses?: DeliveryStatus[] | null
  /** Push only events of sends with one of these tags, at most 20. `[]` removes the filter. */
  tags?: string[] | null
  /** Push only events of sends with one of these tenants, at most 20. `[]` removes the filter. */
  tenant_ids?: string[] | null
  /** Push only events of sends whose From has one of these domains, at most 20. `[]` removes the filter. */
  domains?: string[] | null
  /** True to push no events that are stored later. Waiting dispatches continue. */
  disabled?: boolean | null
}

/** The response has no fields. */
export interface DeleteEndpointResponse {}

/** Outcome of a test. */
export interface TestWebhookResponse {
  /** The `event_id` of the payload, to find the test in the endpoint's log. No stored event has this id. */
  event_id: string
  /** When the test was sent. */
  dispatched_at: string
  /** Outcome of the attempt. `acked` means success. */
  outcome: AttemptOutcome
  /** HTTP status code of the response. Absent when there was none. */
  status_code?: number
  /** Duration of the attempt, in milliseconds. */
  duration_ms: number
  /** Duration of each phase of the attempt. */
  phases?: AttemptPhases
  /** Beginning of the response's body, at most 1,024 bytes. */
  response_excerpt?: string
  /** True when the body is longer than the excerpt. */
  response_cut?: boolean
  /** What the outcome means, in a sentence. Absent when the outcome is `acked`. */
  detail?: string
}

/** The account's first webhook endpoint. */
export interface Webhook {
  /** URL that receives events. */
  url: string
  /** When the endpoint was first set. */
  created_at: string
  /** When the URL, the lists or the secret last changed. */
  updated_at: string
  /** Secret that signs requests: `whsec_` and base64. Present only in the response of the call that created it. */
  secret?: string
  /** Until when requests are also signed with the previous secret. Absent when there is none. */
  previous_secret_until?: string
  /** Health of the endpoint. */
  health?: WebhookHealth
  /** Kinds of events that are pushed. All events are stored, and you can replay those that were not pushed. */
  events: string[]
  /** Statuses of the events that are pushed. */
  statuses: DeliveryStatus[]
  /** Identifier of the endpoint, as in `/api/v1/webhooks`: `whk_` and 26 characters. */
  endpoint_id: string
}

/** The endpoint to set. */
export interface PutWebhookRequest {
  /** URL that receives events, at most 2,048 characters, such as `https://hooks.example.com/email`. */
  url: string
  /**
   * Kinds of events to push: `email.delivery` for outcomes, `email.feedback` for late bounces and complaints. Absent in
   * the first call, it is `["email.delivery"]`; absent in a later one, it stays as it is.
   */
  events?: ('email.delivery' | 'email.feedback')[] | null
  /**
   * Push only events with one of these statuses. For feedback, it is the status that the recipient had before. Absent
   * in the first call, it is all of them; absent in a later one, it stays as it is.
   */
  statuses?: DeliveryStatus[] | null
}

/** The response has no fields. */
export interface DeleteWebhookResponse {}

/** The account's domains. */
export interface ListDomainsResponse {
  /** Domains ordered by name, at most 1,000. */
  domains: Domain[]
}

/** A sending domain. */
export interface Domain {
  /** Identifier of the domain: `dom_` and 26 characters. */
  domain_id: string
  /** Name in lower case, with A-labels and without a trailing dot. */
  domain: string
  /** Whether you can send mail from the domain. */
  status: DomainStatus
  /** The DNS records to publish. */
  records: DomainRecord[]
  /**
   * Progress of the domain's warm-up. `null` before the domain is verified, and when nothing limits its daily volume.
   */
  warmup: WarmUp | null
  /** The DKIM keys of the domain. */
  dkim?: Dkim
  /** What the domain's circuit breaker allows. */
  sending: SendingState
  /** True when mail of this domain is sent only over TLS with a valid certificate. */
  require_tls: boolean
  /** When the domain was added. */
  created_at: string
  /** When the domain was verified. A lapsed domain keeps this time. */
  verified_at?: string
  /**
   * Name of the pool of addresses that mail of this domain leaves from. Absent when it was not chosen for this domain:
   * then it is that of the account's tier, if any.
   */
  pool?: string
}

/**
 * Whether you can send mail from a domain.
 *
 * - `pending`: Some required records have not been found yet. Sends from the domain are `rejected` with
 *   `domain_not_verified`.
 * - `verified`: All required records were found, which is checked again every day, or the operator vouches for the
 *   domain.
 * - `failed`: The records were not found within 14 days. DNS is no longer checked automatically, only by Verify.
 * - `lapsed`: The domain was verified, and then its records were missing or wrong for three days. Days on which servers
 *   do not answer do not count against it. Sends from it are `rejected` with `domain_not_verified` until the records
 *   are found again.
 */
export type DomainStatus = 'pending' | 'verified' | 'failed' | 'lapsed'

/** A DNS record of a domain, and what DNS contains in its place. */
export interface DomainRecord {
  /**
   * Purpose of the record: `SPF` (which addresses may send for the domain), `RETURN_PATH` (where bounces go), `DKIM`
   * (the key that verifies signatures) or `DMARC` (what receivers do with mail that fails authentication).
   */
  record: string
  /** DNS type: `TXT`, `MX` or `CNAME`. */
  type: string
  /** Full name of the record, without a trailing dot. Many DNS providers want it without the domain at its end. */
  host: string
  /**
   * Value to publish. For an MX record it is the preference and the host name. Empty when the service cannot determine
   * it yet; `error` says why.
   */
  value: string
  /**
   * The value split into strings of at most 255 bytes, as DNS stores it. Present only when there is more than one. Most
   * DNS providers split the value themselves.
   */
  strings?: string[]
  /** True when the domain cannot be verified without this record. */
  required: boolean
  /** Result of the last check. */
  status: RecordStatus
  /** What DNS contained when its servers last answered. */
  observed: string[]
  /** What is wrong and what to do about it. */
  error?: string
  /** When the record was last checked. */
  last_checked_at?: string
}

/**
 * Result of the last check of a record.
 *
 * - `pending`: The record has not been checked yet, or the DNS servers did not answer.
 * - `verified`: The record is published and does its job.
 * - `failed`: The record is missing or wrong; `error` says what to do.
 */
export type RecordStatus = 'pending' | 'verified' | 'failed'

/** Progress of a domain's warm-up. */
export interface WarmUp {
  /** Day of the warm-up. It is 1 on the UTC day of the verification. */
  day: number
  /** Emails allowed today (UTC). */
  daily_limit: number
  /** Emails already let through today. */
  sent_today: number
  /** When the warm-up ends. From then on nothing limits the daily volume. */
  completes_at: string
}

/** The DKIM keys of a domain. */
export interface Dkim {
  /** Selector of the key that signs mail. */
  selector: string
  /** Length of that key, in bits. */
  key_bits: number
  /** All keys, oldest first. */
  keys: DkimKey[]
}

/** A DKIM key. */
export interface DkimKey {
  /** Selector: the first label of the record's name. */
  selector: string
  /** What the key is used for. */
  state: DkimKeyState
  /** Length of the key, in bits. */
  key_bits: number
  /** When the key was created. */
  created_at: string
  /** When you may remove the record of a retired key. Absent for other keys. */
  retires_at?: string
}

/**
 * What a DKIM key is used for.
 *
 * - `next`: The key signs mail as soon as its record is found in DNS.
 * - `active`: The key signs mail.
 * - `retired`: The key no longer signs mail. Its record stays for mail that is still on its way.
 */
export type DkimKeyState = 'next' | 'active' | 'retired'

/**
 * What the circuit breaker of a domain allows. The breaker evaluates the last 24 hours when they have at least 100
 * emails.
 *
 * - `active`: Sending is not limited.
 * - `throttled`: Sending is at risk or limited. At least 5 % of emails bounce because the mailbox does not exist, or at
 *   least 0.1 % lead to complaints; or the breaker was open and now allows ten emails a minute until a hundred had no
 *   such bounce and no complaint.
 * - `paused`: Sends are refused with `rate_limit_exceeded`: at least 10 % of emails bounced because the mailbox does
 *   not exist, or three, and at least 0.5 %, led to complaints.
 */
export type SendingState = 'active' | 'throttled' | 'paused'

/** The domain to add. */
export interface CreateDomainRequest {
  /**
   * Name of the domain, such as `example.com`. Internationalised names are accepted in Unicode and returned as A-labels
   * (`xn--...`). A subdomain is a separate domain: mail from `news.example.com` needs that domain.
   */
  domain: string
  /** Send mail of this domain only over TLS with a valid certificate. Default: `false`. */
  require_tls?: boolean | null
}

/** The settings to change. */
export interface UpdateDomainRequest {
  /**
   * Send mail of this domain only over TLS with a valid certificate. Takes effect within 5 seconds, for sends that
   * begin then.
   */
  require_tls?: boolean | null
  /**
   * Name of the pool of addresses that mail of this domain leaves from; empty for that of the account's tier. The
   * operator defines the pools. The SPF record then names other addresses: `records` shows its new value, and the
   * domain is checked as usual. Takes effect within 5 seconds, for sends that begin then.
   */
  pool?: string | null
}

/** The response has no fields. */
export interface DeleteDomainResponse {}

/**
 * Length of the periods of a series.
 *
 * - `hour`: One period per hour.
 * - `day`: One period per day (UTC).
 * - `total`: One period for the whole range.
 * - `minute`: One period per minute, for ranges of up to six hours within the last two days.
 */
export type Granularity = 'hour' | 'day' | 'total' | 'minute'

/**
 * What the emails of a group have in common.
 *
 * - `provider`: The recipient's mailbox provider, by the name of the mail exchanger: `google`, `microsoft`, `yahoo`,
 *   `apple` and others, else the exchanger's registrable domain. The key is empty where no exchanger was found or
 *   asked.
 * - `domain`: The sending domain.
 * - `recipient_domain`: The domain of the recipient's address.
 * - `tag`: The tag of the send. The key is empty for sends without one. At most 100 tags of a day are counted apart,
 *   for the whole account.
 * - `tenant`: The tenant of the send. The key is empty for sends without one.
 * - `reason`: The reason of a bounced or rejected email. No other email is in a group.
 */
export type GroupBy = 'provider' | 'domain' | 'recipient_domain' | 'tag' | 'tenant' | 'reason'

/** Statistics of a range of time. */
export interface GetStatsResponse {
  /** Start of the counted range, inclusive. */
  from: string
  /** End of the counted range, exclusive. */
  to: string
  /** Length of the periods of `series`. */
  granularity: Granularity
  /** Counts and rates of the whole range. */
  totals?: StatsTotals
  /** Number of bounced or rejected emails for each reason, zeros included. */
  reasons: Record<string, number>
  /** Time to the outcome of an email. */
  latency_ms?: LatencyPercentiles
  /** Every period from `from` to `to`, in order, including those without email. */
  series: StatsPeriod[]
  /**
   * What the circuit breaker of each sending domain allows now: the domain of the filter, or all domains of the
   * account.
   */
  domains: DomainSending[]
  /**
   * True when counts may be missing; otherwise absent. Only with `tenant_id`: in some hour the account had more than
   * 1,000 tenants, and this tenant may not have been among the 1,000 with the most emails. Its emails of such an hour
   * are then missing here, and are counted without `tenant_id`.
   */
  incomplete?: boolean
  /**
   * With `by`: at most 100 groups, those with the most emails first, then `other` with the rest if there is any. The
   * counts of all groups add up to `totals`. Empty without `by`.
   */
  groups: StatsGroup[]
}

/** Counts and rates of the whole range. */
export interface StatsTotals {
  /** Emails that reached DNS or SMTP: delivered and bounced ones. */
  sent: number
  /** Emails that the recipient's server accepted. */
  delivered: number
  /** Emails that the recipient's side did not accept. */
  bounced: number
  /** Emails refused before anything was sent. Not part of `sent`. */
  rejected: number
  /** Complaints of recipients, counted when the complaint arrived. */
  complaints: number
  /** `delivered` as a fraction of `sent`. `null` when nothing was sent. */
  delivery_rate: number | null
  /** `bounced` as a fraction of `sent`. `null` when nothing was sent. */
  bounce_rate: number | null
  /** `complaints` as a fraction of `sent`. `null` when nothing was sent. */
  complaint_rate: number | null
  /**
   * Emails that a mail server accepted and then could not deliver because the mailbox does not exist, counted when the
   * report arrived. They stay `delivered`.
   */
  late_bounces: number
}

/**
 * Time from the end of the checks, which include the look-up of mail exchangers, to the outcome of delivered and
 * bounced emails, in milliseconds. Times are counted in buckets, each half as wide again as the one before, and
 * interpolated within a bucket. Times over 45 s count as 45 s.
 */
export interface LatencyPercentiles {
  /** 50th percentile. `null` when nothing was sent. */
  p50: number | null
  /** 95th percentile. `null` when nothing was sent. */
  p95: number | null
  /** 99th percentile. `null` when nothing was sent. */
  p99: number | null
}

/** One period of the series. */
export interface StatsPeriod {
  /** Start of the period. */
  period: string
  /** Delivered and bounced emails. */
  sent: number
  /** Emails that the recipient's server accepted. */
  delivered: number
  /** Emails that the recipient's side did not accept. */
  bounced: number
  /** Emails refused before anything was sent. */
  rejected: number
}

/** What the circuit breaker of a domain allows. */
export interface DomainSending {
  /** Name of the domain. */
  domain: string
  /** What its circuit breaker allows. */
  sending: SendingState
}

/** Counts of the emails that have one value of `by`. */
export interface StatsGroup {
  /**
   * Value that the emails share, such as the name of a provider. Empty for emails without one. The key `other` has the
   * emails of all further values: of each hour that is over, only the 100 values with the most emails are kept.
   */
  key: string
  /** Delivered and bounced emails. */
  sent: number
  /** Emails that the recipient's server accepted. */
  delivered: number
  /** Emails that the recipient's side did not accept. */
  bounced: number
  /** Emails refused before anything was sent. */
  rejected: number
  /** Complaints of recipients, counted when the complaint arrived. */
  complaints: number
  /** Bounced emails of which it is unknown whether they arrived. Part of `bounced`. */
  in_doubt: number
  /**
   * 95th percentile of the time to the outcome, in milliseconds, as in `latency_ms`. `null` when nothing was sent, and
   * with `by=reason`.
   */
  p95_ms: number | null
  /** Number of bounced or rejected emails for each reason that occurred. */
  reasons: Record<string, number>
}

/** The addresses to import, and their list. */
export interface SuppressionServiceImportRequest {
  /** 1 to 10,000 addresses, without display names. */
  emails: string[]
  /** Tenant whose list gets the addresses, 1 to 128 characters. Default: the list of the whole account. */
  tenant_id?: string | null
  /** Reason of the new entries. Default: `import`. */
  reason?: SuppressionReason | null
  /** Whether to only count what the import would do. Default: `false`. */
  dry_run?: boolean | null
  /**
   * Identifier of the import that this request belongs to: `imp_` and 26 characters. It is that of an earlier response,
   * or your own. Default: a new one.
   */
  import_id?: string | null
}

/** Result of an import. `imported`, `already_suppressed` and `invalid` add up to `total`. */
export interface SuppressionServiceImportResponse {
  /** New entries, and permanent ones in place of entries that would have expired. */
  imported: number
  /** Addresses with a permanent entry on this list, and repetitions within the import. */
  already_suppressed: number
  /** Texts that are not an address the service could mail. `errors` lists them. */
  invalid: number
  /** Addresses in the request. */
  total: number
  /** The skipped texts, in the order of the request. */
  errors: SuppressionImportError[]
  /** Identifier of the import, by which it can be undone. Absent after a dry run. */
  import_id?: string
  /** Some of the addresses. Present after a dry run. */
  preview?: SuppressionImportPreview
}

/** A text that was not imported. */
export interface SuppressionImportError {
  /** Position in `emails`, starting at 0. */
  index: number
  /** The text, as given in the request. */
  email: string
  /** Error code: `invalid_address`. Handle unknown codes in the same way. */
  error: string
}

/** The first addresses that a dry run counted, in the form used for matching. */
export interface SuppressionImportPreview {
  /** The first ten that the import would add. */
  added: string[]
  /** The first ten that are suppressed already. */
  known: string[]
}

/** What the call undid. */
export interface SuppressionServiceUndoImportResponse {
  /** Entries that it removed. */
  removed: number
  /** Entries that it put back in place of permanent ones. */
  restored: number
}

/** One page of entries. */
export interface SuppressionServiceListResponse {
  /** The entries, newest first, without those that have expired. */
  entries: SuppressionEntry[]
  /** Cursor of the next page. Absent on the last page. */
  next_cursor?: string
  /** True when there is a next page. */
  has_more: boolean
}

/** One suppressed address. */
export interface SuppressionEntry {
  /** The address in the form used for matching: A to Z in lower case, its domain as A-labels. */
  email: string
  /** Which sends the entry applies to. */
  scope: SuppressionScope
  /** Tenant of the entry. Present when `scope` is `tenant`. */
  tenant_id?: string
  /** What created the entry. */
  reason: SuppressionReason
  /** Message whose bounce or complaint created the entry. */
  message_id?: string
  /** Text behind the entry, such as the reply of the recipient's server. */
  detail?: string
  /** When the address was suppressed. */
  created_at: string
  /** When the entry expires. Absent for a permanent entry. */
  expires_at?: string
  /**
   * What the entry rests on: the kind of the rule that suppressed the address, and the last reply or report. Absent for
   * an entry of an import or added by hand, for a global one, and for one that an earlier version made.
   */
  evidence?: Evidence
}

/** The address to add, and its list. */
export interface SuppressionServiceAddRequest {
  /** The address, without a display name. */
  email: string
  /** Tenant whose list gets the address, 1 to 128 characters. Default: the list of the whole account. */
  tenant_id?: string | null
  /** Reason of the new entry. Default: `manual`. */
  reason?: SuppressionReason | null
}

/** The response has no fields. */
export interface SuppressionServiceRemoveResponse {}

/**
 * The time in which bounces made the entries to remove, and filters. An entry is removed when it matches all of them.
 */
export interface SuppressionServiceLiftRequest {
  /**
   * Only entries whose `created_at` is this time or later. In JSON it is a time with an offset, such as
   * `2026-11-01T12:00:00Z`, or a date, which means 00:00 UTC of that day.
   */
  created_from: string
  /** Only entries whose `created_at` is earlier than this. It has the format of `created_from`. */
  created_to: string
  /** Only entries of addresses of this domain. */
  domain?: string | null
  /** Only entries whose evidence has this kind, which is not `complaint`. By default also those without evidence. */
  kind?: EvidenceKind | null
  /** Only entries of this tenant. By default those of the account and of all its tenants. */
  tenant_id?: string | null
  /** Only show what would be removed. */
  dry_run?: boolean | null
}

/** What the call removed, or would remove. */
export interface SuppressionServiceLiftResponse {
  /** Number of entries. */
  lifted: number
  /** The first 100 of them. */
  entries: SuppressionEntry[]
}

/** The limits of the account. */
export interface GetLimitsResponse {
  /** Name of the account's tier. */
  tier: string
  /**
   * Requests per minute that the tier allows. A batch is one request. Sends of people in the dashboard count like those
   * with a key. The headers of every response say how many are left.
   */
  requests_per_minute: number
  /** Maximum sizes. */
  sizes?: SizeLimits
  /** Maximum counts in one request. */
  counts?: CountLimits
  /** Daily volume of every domain of the account, ordered by name. */
  domains: DomainVolume[]
  /** What the account has sent this month, and its quota. */
  month?: MonthUsage
}

/** Maximum sizes. A larger request is refused as a whole. */
export interface SizeLimits {
  /** Body of a request, in bytes. */
  request_bytes: number
  /** `html` of a message, in bytes of UTF-8. */
  html_bytes: number
  /** `text` of a message, in bytes of UTF-8. */
  text_bytes: number
  /** All attachments of a message together, decoded, in bytes. */
  attachments_bytes: number
  /** `subject`, in characters. */
  subject_characters: number
  /** Value of a custom header, in characters. */
  header_value_characters: number
  /** `tenant_id`, in characters. */
  tenant_id_characters: number
  /** All keys and values of `metadata` together, in bytes of UTF-8. */
  metadata_bytes: number
  /** Key of `metadata`, in characters. */
  metadata_key_characters: number
  /** Value of `metadata`, in characters. */
  metadata_value_characters: number
  /** `tag`, in characters. */
  tag_characters: number
  /** `filename` of an attachment, in characters. */
  filename_characters: number
}

/** Maximum counts in one request. */
export interface CountLimits {
  /** Recipients of a message: distinct addresses in `to`, `cc` and `bcc` together. */
  recipients: number
  /** Attachments of a message. */
  attachments: number
  /** Custom headers of a message. */
  headers: number
  /** Messages in a batch. */
  batch_emails: number
  /** Addresses in one import into a suppression list. */
  import_addresses: number
  /** Addresses in `reply_to` of a message. */
  reply_to: number
  /** Pairs in `metadata` of a message. */
  metadata_pairs: number
}

/** Daily volume of a domain. */
export interface DomainVolume {
  /** Name of the domain. */
  domain: string
  /**
   * Emails the domain may send today (UTC). `null` when the domain is not in its warm-up, and nothing limits its
   * volume.
   */
  daily_limit: number | null
  /**
   * Emails counted today (UTC), without dry runs and mail to the simulator. During the warm-up every email that was let
   * through counts; otherwise every email that was `delivered` or `bounced`.
   */
  sent_today: number
}

/** What an account has sent in a UTC month. */
export interface MonthUsage {
  /** First day of the month, such as `2026-01-01`. */
  from: string
  /** When the month ends. */
  ends_at: string
  /** Emails the account may send in the month. `null` when its tier has no quota. */
  quota: number | null
  /**
   * Emails counted in the month, without dry runs and mail to the simulator. With a quota, every email that the quota
   * admitted counts. Without one, every email that was `delivered` or `bounced` counts.
   */
  used: number
  /** The month's emails by domain, those with the most first. At most 100. */
  domains: DomainUsage[]
}

/** What a domain has sent in a month. */
export interface DomainUsage {
  /** Name of the domain. */
  domain: string
  /** Emails that were `delivered` or `bounced`. */
  sent: number
  /** Emails to the simulator, which are no part of `sent`. */
  simulated: number
}

/** An account, and the key that asked. */
export interface GetAccountResponse {
  /** Id of the account, with the prefix `acc_`. */
  account_id: string
  /** Name of the account. */
  name: string
  /** Mode of the key. */
  mode: KeyMode
  /** Scopes of the key, ordered by name. */
  scopes: string[]
  /** Id of the key, with the prefix `key_`. Absent for a person of the dashboard. */
  key_id?: string
  /** When the key expires. Absent for a key that does not. */
  key_expires_at?: string
  /** Name of the account's tier. */
  tier: string
  /** Region where the data of this service is kept, as its operator names it. */
  region: string
}

/**
 * Whether sends of a key reach mail servers.
 *
 * - `live`: Sends are real, unless they ask for a dry run.
 * - `test`: Every send is a dry run.
 */
export type KeyMode = 'live' | 'test'

/**
 * Body of a delivery event: the terminal state of one recipient. The bytes are the same on every attempt and replay,
 * unless an address in them was erased meanwhile. Ignore unknown fields: later versions may add some.
 */
export type EmailDeliveryPayload = ByStatus<EmailDeliveryPayloadFields, BounceReason, RejectionReason>

interface EmailDeliveryPayloadFields {
  /** Always `email.delivery`. */
  event: string
  /** Identifier of the message: `msg_` and 26 characters. */
  message_id: string
  /** Terminal state of the recipient. */
  status: DeliveryStatus
  /** Reason of the outcome. Present when `status` is `bounced` or `rejected`. */
  reason?: Reason
  /** When the outcome was recorded, in Unix seconds. */
  timestamp: number
  /** Identifier of the event: `evt_` and 26 characters. Store it to recognise an event that arrives twice. */
  event_id: string
  /** Address of the recipient. */
  recipient: string
  /** True when the event comes from a dry run. Only a replay sends such an event. */
  sandbox?: boolean
  /** What the recipient's server said. Absent when no server was asked. */
  smtp?: PayloadEvidence
  /** True when the reply to the final dot was lost: the message may or may not have arrived. */
  in_doubt?: boolean
  /** True when you may send the message again as a new send: see `RecipientOutcome`. */
  retryable?: boolean
  /** Tag given with the send. */
  tag?: string
  /** Metadata given with the send. */
  metadata?: Record<string, string>
  /** Tenant given with the send. */
  tenant_id?: string
  /**
   * The fault of this service because of which nothing was sent to the recipient. Other recipients of the message have
   * an outcome.
   */
  detail?: string
}

/** The part of the evidence that a payload carries. Get event returns all of it. */
export interface PayloadEvidence {
  /** Host name of the mail exchanger. */
  mx?: string
  /** SMTP reply code, such as 250 or 550. */
  code?: number
  /** Enhanced status code (RFC 3463), such as `5.1.1`. */
  enhanced?: string
  /** Text of the reply in one line, at most 1,024 bytes. */
  reply?: string
}

/**
 * Body of a feedback event: a late bounce, or a complaint. It is sent only to an endpoint that asked for the kind
 * `email.feedback`. The terminal state of the message never changes.
 */
export interface EmailFeedbackPayload {
  /** Always `email.feedback`. */
  event: string
  /** Identifier of the message: `msg_` and 26 characters. */
  message_id: string
  /** Terminal state of the recipient, which the report does not change. */
  status: DeliveryStatus
  /** Reason that the report gives. Absent for a complaint. */
  reason?: Reason
  /** When the report arrived, in Unix seconds. */
  timestamp: number
  /** Identifier of the event: `evt_` and 26 characters. Store it to recognise an event that arrives twice. */
  event_id: string
  /** Address of the recipient. */
  recipient: string
  /** What the report says. */
  feedback: FeedbackKind
  /** Text of the report: the mail server's reply for a late bounce, the type of complaint for a complaint. */
  detail?: string
  /** Tag given with the send. */
  tag?: string
  /** Metadata given with the send. */
  metadata?: Record<string, string>
  /** Tenant given with the send. */
  tenant_id?: string
  /** What the report quotes, and how it was read. Absent when it quotes nothing that could be read. */
  smtp?: ReportEvidence
  /** True when a mailbox other than the recipient's failed: see `Feedback`. */
  member?: boolean
}

/** The part of a report's evidence that a payload carries. */
export interface ReportEvidence {
  /** SMTP reply code. Absent when the report quotes no reply. */
  code?: number
  /** Enhanced status code (RFC 3463), such as `5.1.1`. */
  enhanced?: string
  /** Text of the reply in one line, at most 1,024 bytes. Absent when the report quotes no reply. */
  reply?: string
  /** What decided how the report was read. Always `report` for a complaint. */
  decided_by?: DecidedBy
  /** The phrase that decided. Present when words decided. */
  words?: string
}

/** Body of a test event, which the test of the endpoint sends. */
export interface WebhookTestPayload {
  /** Always `webhook.test`. */
  event: string
  /** Identifier of the test: `evt_` and 26 characters. No stored event has this id. */
  event_id: string
  /** When the test was sent, in Unix seconds. */
  timestamp: number
}

/** The body of every error. */
export interface ErrorBody {
  /**
   * - `invalid_payload`: 400: the JSON is malformed, or a field is missing, unknown, of the wrong type or too large.
   *   `details` names the field.
   * - `invalid_address`: 400: an address does not parse. `details` names the field.
   * - `invalid_api_key`: 401: the API key is missing, unknown, revoked or expired.
   * - `domain_not_verified`: 403: the From domain is not a domain of the account.
   * - `insufficient_scope`: 403: the API key lacks the scope of this call. Test keys can only send dry runs and read.
   * - `not_found`: 404: the path does not exist, or the account has no such message, event, domain, endpoint or
   *   suppression entry.
   * - `method_not_allowed`: 405: the path exists, but does not support this method. The header `Allow` lists the
   *   supported ones.
   * - `event_expired`: 410: the id is older than 90 days, which is how long messages and events are kept.
   * - `payload_too_large`: 413: the request is larger than 15 MiB.
   * - `unsupported_media_type`: 415: the body is not JSON in UTF-8, or it is compressed. gRPC and Connect accept gzip,
   *   and no other compression.
   * - `transient_failure`: 500: a fault of the service. Nothing was sent, and it is safe to retry.
   * - `rate_limit_exceeded`: 429: the requests per minute are used up, the domain's warm-up or circuit breaker allows
   *   no more, or too many lists, counts, statistics or imports of the account run at the same time. Wait `retry_after`
   *   seconds.
   * - `webhook_not_configured`: 409: the account has no webhook endpoint.
   */
  error: 'invalid_payload' | 'invalid_address' | 'invalid_api_key' | 'domain_not_verified' | 'insufficient_scope' | 'not_found' | 'method_not_allowed' | 'event_expired' | 'payload_too_large' | 'unsupported_media_type' | 'transient_failure' | 'rate_limit_exceeded' | 'webhook_not_configured'
  /** What is wrong, in words. */
  message: string
  /** Seconds to wait before you try again. */
  retry_after?: number
  /** The id in the header `X-Request-Id`. */
  request_id: string
  /** The invalid fields, by their path, such as `attachments[0].content`. */
  details?: ({ field: string; message: string })[]
}

export interface ListEmailsQuery {
  /** Only emails with this status: the status of the message, which is the worst of its recipients. */
  status?: DeliveryStatus
  /** Only emails with this reason: the reason of the message. */
  reason?: Reason
  /**
   * Only emails with this recipient, in `to`, `cc` or `bcc`. The case of A to Z does not matter, and the domain may be
   * in Unicode or A-label form. 3 to 64 octets without `@` and blanks find all addresses that begin with them, and
   * `@example.com` those of the domain. Any other text is refused.
   */
  recipient?: string
  /** Only emails from this domain: the part of `from` after the @. It may be in Unicode or A-label form. */
  domain?: string
  /** Only emails with this tag. */
  tag?: string
  /** Only emails with this tenant. */
  tenant_id?: string
  /** `true` for dry runs only, `false` for real sends only. By default both. */
  sandbox?: boolean
  /**
   * Only emails whose `createdAt` is this time or later. In JSON it is a time with an offset, such as
   * `2026-11-01T12:00:00Z`, or a date, which means 00:00 UTC of that day. When you poll, overlap by two minutes: an
   * email is listed when its send ends, which may be that long after its `createdAt`. When the service stopped during
   * the send, it may be longer: the list of events has its events by the time at which they were recorded.
   */
  from?: string | Date
  /** Only emails whose `createdAt` is earlier than this. It has the format of `from`. */
  to?: string | Date
  /** Number of emails on a page, 1 to 100. Default: 50. */
  limit?: number
  /** `next_cursor` of the previous page. Send the same filters with it. */
  cursor?: string
  /**
   * `true` for emails with a recipient in doubt only, `false` for emails without one. By default both. The status of an
   * email in doubt is `bounced`.
   */
  in_doubt?: boolean
  /**
   * Only emails with a recipient at this domain: the part of the address after the @. It may be in Unicode or A-label
   * form. Together with `recipient`, one recipient must match both.
   */
  recipient_domain?: string
  /**
   * Only emails whose subject has all of these words, in any order. Only whole words match, and case does not matter.
   * Every character but a letter or a digit separates words. In Japanese, Chinese, Korean, Thai, Lao, Burmese and Khmer
   * any part of a text matches: all characters that are neighbours in the part must be neighbours in the subject.
   */
  subject?: string
  /**
   * Only emails with all of these pairs in their `metadata`. Key and value are compared exactly. In a URL a pair is
   * `metadata.order=4102` or `metadata[order]=4102`.
   */
  metadata?: Record<string, string>
  /**
   * Only emails that this mailbox provider bounced for a recipient: a `key` of the statistics by provider, such as
   * `microsoft`, or the domain or the IP address of a mail exchanger. It reads the bounced emails, which are few, one
   * by one: give `from` for a provider that bounces little.
   */
  bounced_by?: string
  /**
   * Only emails about which such a report came back after the outcome. The status of an email that came back stays
   * `delivered`.
   */
  feedback?: FeedbackKind
  /**
   * Only emails from this address, whatever its display name. It looks at the emails of the address's domain one by
   * one.
   */
  sender?: string
}

export interface ListRefusedSendsQuery {
  /** Only sends to this recipient. It has the forms of `recipient` in List emails. */
  recipient?: string
  /** Only sends that ended with this error. */
  error?: ErrorReason
  /** Only sends that were refused at this time or later, in the format of List emails. */
  from?: string | Date
  /** Only sends that were refused before this time. */
  to?: string | Date
  /** Number of entries on a page, 1 to 100. Default: 50. */
  limit?: number
  /** `next_cursor` of the previous page. Send the same filters with it. */
  cursor?: string
}

export interface ListEventsQuery {
  /** Only events of this message. */
  message_id?: string
  /** Only events with this status. */
  status?: DeliveryStatus
  /** Only events with this reason. */
  reason?: Reason
  /**
   * Only events of this recipient address. The case of A to Z does not matter, and the domain may be in Unicode or
   * A-label form. The beginning of addresses and `@example.com` are read as in `ListEmailsRequest.recipient`.
   */
  recipient?: string
  /** Only events of sends with this tenant. */
  tenant_id?: string
  /** `true` for dry runs only, `false` for real sends only. By default both. */
  sandbox?: boolean
  /**
   * Only events whose `timestamp` is this time or later. In JSON it is a time with an offset, such as
   * `2026-11-01T12:00:00Z`, or a date, which means 00:00 UTC of that day. When you poll, overlap by a minute: an event
   * is listed when it is committed, mostly a moment after its timestamp.
   */
  from?: string | Date
  /** Only events whose `timestamp` is earlier than this. It has the format of `from`. */
  to?: string | Date
  /** Number of events on a page, 1 to 100. Default: 50. */
  limit?: number
  /** `next_cursor` of the previous page. Send the same filters with it. */
  cursor?: string
  /** Only events of sends with this tag. */
  tag?: string
  /** Only events of this kind: `email.delivery` or `email.feedback`. By default both. */
  event?: 'email.delivery' | 'email.feedback'
  /** Only late bounces, or only complaints. No outcome of a send matches. */
  feedback?: FeedbackKind
}

export interface ListChangesQuery {
  /**
   * Where to start: a position of an earlier response, or `begin` for the oldest event that is stored. By default the
   * events that are committed after the call, and sometimes a few that were committed just before it. Filters may
   * change between two calls.
   */
  after?: string
  /** Only events of this message. */
  message_id?: string
  /** Only events with this status. */
  status?: DeliveryStatus
  /** Only events with this reason. */
  reason?: Reason
  /**
   * Only events of this recipient address. The case of A to Z does not matter, and the domain may be in Unicode or
   * A-label form.
   */
  recipient?: string
  /** Only events of sends with this tenant. */
  tenant_id?: string
  /** `true` for dry runs only, `false` for real sends only. Default: `false`. */
  sandbox?: boolean
  /** Only events of sends with this tag. */
  tag?: string
  /** Only events of this kind: `email.delivery` or `email.feedback`. By default both. */
  event?: 'email.delivery' | 'email.feedback'
  /** Most events of the response, 1 to 100. Default: 50. */
  limit?: number
  /** How long to wait for an event when there is none, in seconds, 0 to 20. Default: 0. */
  wait_s?: number
  /** Only late bounces, or only complaints. No outcome of a send matches. */
  feedback?: FeedbackKind
}

export interface GetStatsQuery {
  /**
   * Start of the range, inclusive: a time with an offset (`2026-11-01T12:00:00Z`), or a date (`2026-11-01`), which is
   * 00:00 UTC of that day. A time within an hour is rounded down to the hour; with `granularity=day`, to the day; with
   * `granularity=minute`, to the minute. Default: seven days before `to`, and one hour with `granularity=minute`.
   */
  from?: string | Date
  /**
   * End of the range, exclusive, in the format of `from`. A time within an hour is rounded up to the next hour; with
   * `granularity=day`, to the next day; with `granularity=minute`, to the next minute. Default: the end of the current
   * hour, day or minute.
   */
  to?: string | Date
  /**
   * Length of the periods of `series`, which has at most 8,784 of them (a year of hours), or 360 minutes. Default:
   * `day`.
   */
  granularity?: Granularity
  /** Only emails sent from this domain. */
  domain?: string
  /** Only emails of sends with this tenant. */
  tenant_id?: string
  /**
   * Also returns `groups`: the counts of the whole range, for each value of this. Groups are counted by whole hours, so
   * it cannot be combined with `granularity=minute`.
   */
  by?: GroupBy
  /**
   * True: only emails to the simulator's addresses (`simulator.test`). False, the default: all others. They are counted
   * apart, and neither the warm-up nor the circuit breaker counts those to the simulator.
   */
  simulated?: boolean
}

export interface ListSuppressionsQuery {
  /** Only entries that apply to this address, including a global one. */
  email?: string
  /** Only entries with this reason. */
  reason?: SuppressionReason
  /** Only entries of this tenant. */
  tenant_id?: string
  /** Number of entries on a page, 1 to 1,000. Default: 50. */
  limit?: number
  /** `next_cursor` of the previous page. Send the same filters with it. */
  cursor?: string
  /**
   * Only entries whose `created_at` is this time or later. In JSON it is a time with an offset, such as
   * `2026-11-01T12:00:00Z`, or a date, which means 00:00 UTC of that day.
   */
  created_from?: string | Date
  /** Only entries whose `created_at` is earlier than this. It has the format of `created_from`. */
  created_to?: string | Date
  /** Only entries of addresses of this domain. */
  domain?: string
  /** Only entries whose evidence has this kind. */
  kind?: EvidenceKind
}

export interface RemoveSuppressionQuery {
  /** Tenant from whose list the address is removed. Default: the list of the whole account. */
  tenant_id?: string
}

/** What each call takes and returns. */
export interface Calls {
  sendEmail: { body: SendRequest; response: SendResponse }
  validateEmail: { body: SendRequest; response: SendResponse }
  sendEmailBatch: { body: SendBatchRequest; response: SendBatchResponse }
  listEmails: { query: ListEmailsQuery; response: ListEmailsResponse }
  getEmail: { path: { id: string }; response: GetEmailResponse }
  listRefusedSends: { query: ListRefusedSendsQuery; response: ListRefusedSendsResponse }
  getReceipt: { path: { id: string }; response: GetReceiptResponse }
  listEvents: { query: ListEventsQuery; response: ListEventsResponse }
  getEvent: { path: { event_id: string }; response: GetEventResponse }
  listChanges: { query: ListChangesQuery; response: ListChangesResponse }
  replayEvent: { path: { event_id: string }; body: ReplayEventRequest; response: ReplayEventResponse }
  replayMessage: { path: { message_id: string }; body: ReplayMessageRequest; response: ReplayMessageResponse }
  listEndpoints: { response: ListEndpointsResponse }
  createEndpoint: { body: CreateEndpointRequest; response: Endpoint }
  getEndpoint: { path: { endpoint_id: string }; response: Endpoint }
  updateEndpoint: { path: { endpoint_id: string }; body: UpdateEndpointRequest; response: Endpoint }
  deleteEndpoint: { path: { endpoint_id: string }; response: DeleteEndpointResponse }
  testEndpoint: { path: { endpoint_id: string }; response: TestWebhookResponse }
  rotateEndpointSecret: { path: { endpoint_id: string }; response: Endpoint }
  getWebhook: { response: Webhook }
  putWebhook: { body: PutWebhookRequest; response: Webhook }
  deleteWebhook: { response: DeleteWebhookResponse }
  testWebhook: { response: TestWebhookResponse }
  rotateWebhookSecret: { response: Webhook }
  listDomains: { response: ListDomainsResponse }
  createDomain: { body: CreateDomainRequest; response: Domain }
  getDomain: { path: { id: string }; response: Domain }
  updateDomain: { path: { id: string }; body: UpdateDomainRequest; response: Domain }
  deleteDomain: { path: { id: string }; response: DeleteDomainResponse }
  verifyDomain: { path: { id: string }; response: Domain }
  rotateDkim: { path: { id: string }; response: Domain }
  getStats: { query: GetStatsQuery; response: GetStatsResponse }
  importSuppressions: { body: SuppressionServiceImportRequest; response: SuppressionServiceImportResponse }
  undoSuppressionImport: { path: { import_id: string }; response: SuppressionServiceUndoImportResponse }
  listSuppressions: { query: ListSuppressionsQuery; response: SuppressionServiceListResponse }
  addSuppression: { body: SuppressionServiceAddRequest; response: SuppressionEntry }
  removeSuppression: { path: { email: string }; query: RemoveSuppressionQuery; response: SuppressionServiceRemoveResponse }
  liftSuppressions: { body: SuppressionServiceLiftRequest; response: SuppressionServiceLiftResponse }
  getLimits: { response: GetLimitsResponse }
  getAccount: { response: GetAccountResponse }
}

/** The route of each call, and whether it takes an `Idempotency-Key`. */
export const ROUTES = {
  sendEmail: { method: 'POST', path: '/api/v1/emails/send', takesKey: true },
  validateEmail: { method: 'POST', path: '/api/v1/emails/validate', takesKey: true },
  sendEmailBatch: { method: 'POST', path: '/api/v1/emails/batch', takesKey: true },
  listEmails: { method: 'GET', path: '/api/v1/emails', takesKey: false },
  getEmail: { method: 'GET', path: '/api/v1/emails/{id}', takesKey: false },
  listRefusedSends: { method: 'GET', path: '/api/v1/refused-sends', takesKey: false },
  getReceipt: { method: 'GET', path: '/api/v1/emails/{id}/receipt', takesKey: false },
  listEvents: { method: 'GET', path: '/api/v1/events', takesKey: false },
  getEvent: { method: 'GET', path: '/api/v1/events/{event_id}', takesKey: false },
  listChanges: { method: 'GET', path: '/api/v1/events/changes', takesKey: false },
  replayEvent: { method: 'POST', path: '/api/v1/events/{event_id}/replay', takesKey: false },
  replayMessage: { method: 'POST', path: '/api/v1/messages/{message_id}/replay', takesKey: false },
  listEndpoints: { method: 'GET', path: '/api/v1/webhooks', takesKey: false },
  createEndpoint: { method: 'POST', path: '/api/v1/webhooks', takesKey: false },
  getEndpoint: { method: 'GET', path: '/api/v1/webhooks/{endpoint_id}', takesKey: false },
  updateEndpoint: { method: 'PATCH', path: '/api/v1/webhooks/{endpoint_id}', takesKey: false },
  deleteEndpoint: { method: 'DELETE', path: '/api/v1/webhooks/{endpoint_id}', takesKey: false },
  testEndpoint: { method: 'POST', path: '/api/v1/webhooks/{endpoint_id}/test', takesKey: false },
  rotateEndpointSecret: { method: 'POST', path: '/api/v1/webhooks/{endpoint_id}/secret/rotate', takesKey: false },
  getWebhook: { method: 'GET', path: '/api/v1/webhook', takesKey: false },
  putWebhook: { method: 'PUT', path: '/api/v1/webhook', takesKey: false },
  deleteWebhook: { method: 'DELETE', path: '/api/v1/webhook', takesKey: false },
  testWebhook: { method: 'POST', path: '/api/v1/webhook/test', takesKey: false },
  rotateWebhookSecret: { method: 'POST', path: '/api/v1/webhook/secret/rotate', takesKey: false },
  listDomains: { method: 'GET', path: '/api/v1/domains', takesKey: false },
  createDomain: { method: 'POST', path: '/api/v1/domains', takesKey: false },
  getDomain: { method: 'GET', path: '/api/v1/domains/{id}', takesKey: false },
  updateDomain: { method: 'PATCH', path: '/api/v1/domains/{id}', takesKey: false },
  deleteDomain: { method: 'DELETE', path: '/api/v1/domains/{id}', takesKey: false },
  verifyDomain: { method: 'POST', path: '/api/v1/domains/{id}/verify', takesKey: false },
  rotateDkim: { method: 'POST', path: '/api/v1/domains/{id}/dkim/rotate', takesKey: false },
  getStats: { method: 'GET', path: '/api/v1/stats', takesKey: false },
  importSuppressions: { method: 'POST', path: '/api/v1/suppression/import', takesKey: false },
  undoSuppressionImport: { method: 'DELETE', path: '/api/v1/suppression/imports/{import_id}', takesKey: false },
  listSuppressions: { method: 'GET', path: '/api/v1/suppression', takesKey: false },
  addSuppression: { method: 'POST', path: '/api/v1/suppression', takesKey: false },
  removeSuppression: { method: 'DELETE', path: '/api/v1/suppression/{email}', takesKey: false },
  liftSuppressions: { method: 'POST', path: '/api/v1/suppression/lift', takesKey: false },
  getLimits: { method: 'GET', path: '/api/v1/limits', takesKey: false },
  getAccount: { method: 'GET', path: '/api/v1/account', takesKey: false },
} as const
