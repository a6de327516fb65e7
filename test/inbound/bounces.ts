import { crlf, dsn, multipart, RETURNED } from './report-forms.ts'

// Bounces as mail servers write them, about a message to ann@example.net or to other recipients. The last one is an
// automatic reply.

export const POSTFIX = dsn({
  notice: `This is the mail system at host mail.example.net.

I'm sorry to have to inform you that your message could not
be delivered to one or more recipients. It's attached below.

<ann@example.net>: host mx.inside.example.net[192.0.2.7] said: 550 5.1.1
    <ann@example.net>: Recipient address rejected: User unknown in virtual
    mailbox table (in reply to RCPT TO command)`,
  fields: [
    `Final-Recipient: rfc822; ann@example.net
Original-Recipient: rfc822;ann@example.net
Action: failed
Status: 5.1.1
Remote-MTA: dns; mx.inside.example.net
Diagnostic-Code: smtp; 550 5.1.1 <ann@example.net>: Recipient address rejected:
    User unknown in virtual mailbox table`,
  ],
})

export const POSTFIX_LOCAL = dsn({
  fields: [
    `Final-Recipient: rfc822; ann@example.net
Original-Recipient: rfc822;ann@example.net
Action: failed
Status: 5.1.1
Diagnostic-Code: x-unix; unknown user: "ann"`,
  ],
})

export const POSTFIX_CONTENT = dsn({
  notice: `<ann@example.net>: host mx.inside.example.net[192.0.2.7] said: 554 5.7.1 Spam message
    rejected (in reply to end of DATA command)`,
  fields: [
    `Final-Recipient: rfc822; ann@example.net
Action: failed
Status: 5.7.1
Remote-MTA: dns; mx.inside.example.net
Diagnostic-Code: smtp; 554 5.7.1 Spam message rejected`,
  ],
})

/** A server that gave up after five days of a full mailbox. */
export const POSTFIX_GIVEN_UP = dsn({
  fields: [
    `Final-Recipient: rfc822; ann@example.net
Action: failed
Status: 4.2.2
Remote-MTA: dns; mx.inside.example.net
Diagnostic-Code: smtp; 452 4.2.2 <ann@example.net> Mailbox full`,
  ],
})

export const POSTFIX_DELAYED = dsn({
  fields: [
    `Final-Recipient: rfc822; ann@example.net
Action: delayed
Status: 4.4.1
Diagnostic-Code: X-Postfix; connect to mx.inside.example.net[192.0.2.7]:25: Connection timed out
Will-Retry-Until: Thu, 26 Nov 2026 10:00:00 +0000 (UTC)`,
  ],
})

export const POSTFIX_DELIVERED = dsn({
  fields: [
    'Final-Recipient: rfc822; ann@example.net\nAction: relayed\nStatus: 2.1.5\nDiagnostic-Code: smtp; 250 2.1.5 Ok',
  ],
})

/** Text, HTML, status and original as Exchange Online nests them; its fields have no blank after the semicolons. */
export const EXCHANGE_ONLINE = multipart('multipart/report; report-type=delivery-status', [
  {
    type: 'multipart/alternative; differences=Content-Type; boundary="=_inner"',
    content: `--=_inner
Content-Type: text/plain; charset="us-ascii"
Content-Transfer-Encoding: quoted-printable

Your message to ann@example.net couldn't be delivered.
ann wasn't found at example.net.

--=_inner
Content-Type: text/html; charset="us-ascii"
Content-Transfer-Encoding: quoted-printable

<html><body style=3D"background:#fff"><p>Your message to <a href=3D"mailto:ann@example.net">=
ann@example.net</a> couldn't be delivered.</p></body></html>

--=_inner--
`,
  },
  {
    type: 'message/delivery-status',
    content: `Reporting-MTA: dns;AM0PR01MB0001.eurprd01.prod.exchangelabs.com
Received-From-MTA: dns;mail.example.com
Arrival-Date: Sat, 21 Nov 2026 10:00:00 +0000

Final-Recipient: rfc822;ann@example.net
Action: failed
Status: 5.1.10
Diagnostic-Code: smtp;550 5.1.10 RESOLVER.ADR.RecipientNotFound; Recipient ann@example.net not found by SMTP address lookup
`,
  },
  { type: 'message/rfc822', content: RETURNED },
])

export const GMAIL = multipart(
  'multipart/report; report-type=delivery-status',
  [
    {
      type: 'text/plain; charset="UTF-8"',
      content: `
** Address not found **

Your message wasn't delivered to ann@example.net because the address couldn't be found, or is unable to receive mail.

The response from the remote server was:
550 5.1.1 <ann@example.net> User unknown`,
    },
    {
      type: 'message/delivery-status',
      content: `Reporting-MTA: dns; googlemail.com
Received-From-MTA: dns; hello@example.test
Arrival-Date: Sat, 21 Nov 2026 02:00:00 -0800 (PST)
X-Original-Message-ID: <msg_01kctznv0zf3kanvqtfn6xkbd4@rp.example.test>

Final-Recipient: rfc822; ann@example.net
Action: failed
Status: 5.1.1
Remote-MTA: dns; gmail-smtp-in.l.google.com. (2a00:1450:4010:c0f::1a, the
 server for the domain example.net.)
Diagnostic-Code: smtp; 550-5.1.1 The email account that you tried to reach does not exist. Please try
 550-5.1.1 double-checking the recipient's email address for typos or
 550-5.1.1 unnecessary spaces. For more information, go to
 550 5.1.1  https://support.google.com/mail/?p=NoSuchUser a1-20020a1c7501000000b00 - gsmtp
Last-Attempt-Date: Sat, 21 Nov 2026 02:00:01 -0800 (PST)
`,
    },
    { type: 'message/rfc822', content: RETURNED },
  ],
  'X-Failed-Recipients: ann@example.net\nAuto-Submitted: auto-replied\n',
)

export const SENDMAIL = dsn({
  notice: `The original message was received at Sat, 21 Nov 2026 10:00:00 GMT
from mail.example.com [192.0.2.25]

   ----- The following addresses had permanent fatal errors -----
<ann@example.net>
    (reason: 550 5.1.1 <ann@example.net>... User unknown)`,
  fields: [
    `Original-Recipient: RFC822;ann@example.net
Final-Recipient: RFC822; ann@inside.example.net
X-Actual-Recipient: RFC822; ann@inside.example.net
Action: failed
Status: 5.1.1
Remote-MTA: DNS; inside.example.net
Diagnostic-Code: SMTP; 550 5.1.1 <ann@inside.example.net>... User unknown
Last-Attempt-Date: Sat, 21 Nov 2026 10:00:01 GMT`,
  ],
})

export const YAHOO = dsn({
  notice: `Sorry, we were unable to deliver your message to the following address.

<ann@example.net>:
554: delivery error: dd This user doesn't have a yahoo.com account (ann@example.net) [0] - mta1234.mail.ne1.yahoo.com`,
  fields: [
    `Final-Recipient: rfc822; ann@example.net
Action: failed
Status: 5.0.0
Remote-MTA: dns; mta1234.mail.ne1.yahoo.com
Diagnostic-Code: smtp; 554 delivery error: dd This user doesn't have a yahoo.com account (ann@example.net) [0]`,
  ],
})

export const EXIM = crlf(`From: Mail Delivery System <Mailer-Daemon@mail.example.net>
To: b+01kctznv0zf3kanvqtfn6xkbd4000123456789abcdef@rp.example.test
X-Failed-Recipients: ann@example.net, bob@example.net
Auto-Submitted: auto-replied
Subject: Mail delivery failed: returning message to sender

This message was created automatically by mail delivery software.

A message that you sent could not be delivered to one or more of its
recipients. This is a permanent error. The following address(es) failed:

  ann@example.net
    host mx.inside.example.net [192.0.2.7]
    SMTP error from remote mail server after RCPT TO:<ann@example.net>:
    550 5.1.1 <ann@example.net>: Recipient address rejected: User unknown
  bob@example.net
    SMTP error from remote mail server after end of data:
    host mx.inside.example.net [192.0.2.7]: 554 5.7.1 This message looks like spam

------ This is a copy of the message, including all the headers. ------

${RETURNED}`)

export const EXIM_UNROUTEABLE = crlf(`From: Mail Delivery System <Mailer-Daemon@mail.example.net>
X-Failed-Recipients: ann@example.net
Subject: Mail delivery failed: returning message to sender

  ann@example.net
    Unrouteable address
`)

export const QMAIL = crlf(`From: MAILER-DAEMON@mail.example.net
Subject: failure notice

Hi. This is the qmail-send program at mail.example.net.
I'm afraid I wasn't able to deliver your message to the following addresses.
This is a permanent error; I've given up. Sorry it didn't work out.

<ann@example.net>:
192.0.2.7 does not like recipient.
Remote host said: 550 5.1.1 <ann@example.net>: Recipient address rejected: User unknown
Giving up on 192.0.2.7.

<bob@example.net>:
Sorry, no mailbox here by that name. (#5.1.1)

<cy@example.net>:
192.0.2.7 failed after I sent the message.
Remote host said: 552 5.2.2 Over quota

--- Below this line is a copy of the message.

${RETURNED}`)

export const OUT_OF_OFFICE = crlf(`From: Ann <ann@example.net>
Auto-Submitted: auto-replied
Subject: Out of office: Hello

I am away until Monday. 550 5.1.1 User unknown is what you would read otherwise.
`)
