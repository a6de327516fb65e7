// Reports in the shape of many mail systems, written by us: each shape takes what the recipient's server said.

/** What a server said, and where our own system failed to reach one. */
export interface Cause {
  /** The reply with its codes; empty for a failure without a reply. */
  reply: string
  /** A failure in words, as systems write it that got no reply. */
  words?: string
}

const TOKEN = 'b.01kctznv0zf3kanvqtfn6xkbd4.0123456789abcdef@rp.sender.example'
export const COPY = `Return-Path: <${TOKEN}>
Received: from mail.sender.example ([192.0.2.25]) by mx.example.net; Sat, 21 Nov 2026 10:00:00 +0000
From: Sender <hello@sender.example>
To: ann@example.net
Subject: Your order
Message-ID: <msg_01kctznv0zf3kanvqtfn6xkbd4@rp.sender.example>
Date: Sat, 21 Nov 2026 10:00:00 +0000

Thank you for your order. 550 5.1.1 is only a number here.
`

interface Head {
  from: string
  subject: string
  more?: string
}

export const crlf = (text: string) => text.replace(/\r?\n/g, '\r\n')

export function plain({ from, subject, more = '' }: Head, body: string, type = 'text/plain; charset=utf-8'): string {
  return crlf(
    `From: ${from}\nTo: ${TOKEN}\nSubject: ${subject}\n${more}MIME-Version: 1.0\nContent-Type: ${type}\n\n${body}\n`,
  )
}

export function parts({ from, subject, more = '' }: Head, type: string, bodies: [string, string][]): string {
  const inner = bodies.map(([partType, content]) => `--=_p\nContent-Type: ${partType}\n\n${content}\n`).join('')
  return crlf(
    `From: ${from}\nTo: ${TOKEN}\nSubject: ${subject}\n${more}MIME-Version: 1.0\nContent-Type: ${type}; boundary="=_p"\n\n${inner}--=_p--\n`,
  )
}

const REPORT = 'multipart/report; report-type=delivery-status'
const statusOf = ({ reply }: Cause) => /\b[45]\.\d{1,3}\.\d{1,3}\b/.exec(reply)?.[0]
const said = ({ reply, words = '' }: Cause) => reply || words

export function dsn(head: Head, notice: string, fields: string): string {
  return parts(head, REPORT, [
    ['text/plain; charset=us-ascii', notice],
    [
      'message/delivery-status',
      `Reporting-MTA: dns; mx.example.net\nArrival-Date: Sat, 21 Nov 2026 10:00:00 +0000\n\n${fields}`,
    ],
    ['message/rfc822', COPY],
  ])
}

/** One shape for each system: its name, and the report on `ann@example.net` for a cause. */
export const SHAPES: [string, (cause: Cause) => string][] = [
  [
    'Postfix',
    (cause) =>
      dsn(
        {
          from: 'MAILER-DAEMON@mx.example.net (Mail Delivery System)',
          subject: 'Undelivered Mail Returned to Sender',
          more: 'Auto-Submitted: auto-replied\n',
        },
        `This is the mail system at host mx.example.net.\n\nI'm sorry to have to inform you that your message could not\nbe delivered to one or more recipients. It's attached below.\n\n<ann@example.net>: ${cause.reply ? `host mail.example.net[198.51.100.7] said: ${cause.reply}` : cause.words}`,
        `Final-Recipient: rfc822; ann@example.net\nOriginal-Recipient: rfc822;ann@example.net\nAction: failed\nStatus: ${statusOf(cause) ?? '5.0.0'}\n${cause.reply ? `Remote-MTA: dns; mail.example.net\nDiagnostic-Code: smtp; ${cause.reply}` : `Diagnostic-Code: X-Postfix; ${cause.words}`}\n`,
      ),
  ],
  [
    'Exim',
    (cause) =>
      plain(
        {
          from: 'Mail Delivery System <Mailer-Daemon@mail.example.net>',
          subject: 'Mail delivery failed: returning message to sender',
          more: 'X-Failed-Recipients: ann@example.net\nAuto-Submitted: auto-replied\n',
        },
        `This message was created automatically by mail delivery software.\n\nA message that you sent could not be delivered to one or more of its\nrecipients. This is a permanent error. The following address(es) failed:\n\n  ann@example.net\n    ${cause.reply ? `host mail.example.net [198.51.100.7]\n    SMTP error from remote mail server after RCPT TO:<ann@example.net>:\n    ${cause.reply}` : cause.words}\n\n------ This is a copy of the message, including all the headers. ------\n\n${COPY}`,
      ),
  ],
  [
    'Exim without X-Failed-Recipients',
    (cause) =>
      plain(
        {
          from: 'Mail Delivery System <Mailer-Daemon@host.example.org>',
          subject: 'Mail delivery failed: returning message to sender',
        },
        `This message was created automatically by mail delivery software.\n\nA message that you sent could not be delivered to one or more of its\nrecipients. This is a permanent error. The following address(es) failed:\n\n  ann@example.net\n    (generated from team@example.org)\n    ${cause.reply ? `SMTP error from remote mail server after RCPT TO:<ann@example.net>:\n    host mail.example.net [198.51.100.7]: ${cause.reply}` : cause.words}\n\n------ This is a copy of the message, including all the headers. ------\n\n${COPY}`,
      ),
  ],
  [
    'Sendmail',
    (cause) =>
      dsn(
        {
          from: 'Mail Delivery Subsystem <MAILER-DAEMON@mx.example.net>',
          subject: 'Returned mail: see transcript for details',
          more: 'Auto-Submitted: auto-generated (failure)\n',
        },
        `The original message was received at Sat, 21 Nov 2026 10:00:00 GMT\nfrom mail.sender.example [192.0.2.25]\n\n   ----- The following addresses had permanent fatal errors -----\n<ann@example.net>\n    (reason: ${said(cause)})\n\n   ----- Transcript of session follows -----\n... while talking to mail.example.net.:\n>>> RCPT To:<ann@example.net>\n<<< ${said(cause)}`,
        `Final-Recipient: RFC822; ann@example.net\nAction: failed\nStatus: ${statusOf(cause) ?? '5.0.0'}\n${cause.reply ? `Remote-MTA: DNS; mail.example.net\nDiagnostic-Code: SMTP; ${cause.reply}\n` : ''}Last-Attempt-Date: Sat, 21 Nov 2026 10:00:01 GMT\n`,
      ),
  ],
  [
    'qmail',
    (cause) =>
      plain(
        { from: 'MAILER-DAEMON@mail.example.net', subject: 'failure notice' },
        `Hi. This is the qmail-send program at mail.example.net.\nI'm afraid I wasn't able to deliver your message to the following addresses.\nThis is a permanent error; I've given up. Sorry it didn't work out.\n\n<ann@example.net>:\n${cause.reply ? `198.51.100.7 does not like recipient.\nRemote host said: ${cause.reply}\nGiving up on 198.51.100.7.` : cause.words}\n\n--- Below this line is a copy of the message.\n\n${COPY}`,
      ),
  ],
  [
    'Exchange Online',
    (cause) =>
      dsn(
        { from: 'Microsoft Outlook <MicrosoftExchange329e@example.net>', subject: 'Undeliverable: Your order' },
        `Your message to ann@example.net couldn't be delivered.\n\nThe mail system at example.net reported a problem.`,
        `Final-Recipient: rfc822;ann@example.net\nAction: failed\nStatus: ${statusOf(cause) ?? '5.0.0'}\nDiagnostic-Code: smtp;${cause.reply || `554 5.4.0 ${cause.words}`}\n`,
      ),
  ],
  [
    'Exchange without a status part',
    (cause) =>
      plain(
        { from: 'postmaster@example.net', subject: 'Undeliverable: Your order' },
        `Delivery has failed to these recipients or groups:\n\nann@example.net<mailto:ann@example.net>\nThe message could not be delivered. Please try again, or ask your helpdesk.\n\nDiagnostic information for administrators:\n\nGenerating server: EX01.example.net\n\nann@example.net\nRemote Server returned '${cause.reply || `554 5.4.0 ${cause.words}`}'\n\nOriginal message headers:\n\n${COPY}`,
      ),
  ],
  [
    'Exchange in HTML',
    (cause) =>
      plain(
        { from: 'Microsoft Outlook <postmaster@example.net>', subject: 'Undeliverable: Your order' },
        `<html><head><style>p { color: red }</style></head><body><p><b>Delivery has failed to these recipients or groups:</b></p>\n<p><a href="mailto:ann@example.net">ann@example.net</a><br>Your message wasn't delivered.</p>\n<p>Diagnostic information for administrators:</p>\n<p>Generating server: EX01.example.net</p><p>ann@example.net<br>Remote server returned &#39;${cause.reply || `554 5.4.0 ${cause.words}`}&#39;</p><p>Original message headers:</p><pre>${COPY.replaceAll('<', '&lt;')}</pre></body></html>`,
        'text/html; charset=utf-8',
      ),
  ],
  [
    'Gmail',
    (cause) =>
      dsn(
        {
          from: 'Mail Delivery Subsystem <mailer-daemon@googlemail.com>',
          subject: 'Delivery Status Notification (Failure)',
          more: 'X-Failed-Recipients: ann@example.net\nAuto-Submitted: auto-replied\n',
        },
        `** Message not delivered **\n\nThere was a problem delivering your message to ann@example.net. See the technical details below.\n\nThe response from the remote server was:\n${said(cause)}`,
        `Final-Recipient: rfc822; ann@example.net\nAction: failed\nStatus: ${statusOf(cause) ?? '5.0.0'}\nRemote-MTA: dns; mail.example.net. (198.51.100.7, the server for the domain example.net.)\nDiagnostic-Code: smtp; ${said(cause)}\n`,
      ),
  ],
  [
    'Gmail without a diagnostic',
    (cause) =>
      dsn(
        {
          from: 'Mail Delivery Subsystem <mailer-daemon@googlemail.com>',
          subject: 'Delivery Status Notification (Failure)',
          more: 'X-Failed-Recipients: ann@example.net\nAuto-Submitted: auto-replied\n',
        },
        `** Address not found **\n\nYour message wasn't delivered to ann@example.net because of a problem.\n\nThe response was:\n\n${said(cause)}`,
        `Final-Recipient: rfc822; ann@example.net\nAction: failed\nStatus: 5.0.0\nLast-Attempt-Date: Sat, 21 Nov 2026 02:00:01 -0800 (PST)\n`,
      ),
  ],
  [
    'OpenSMTPD',
    (cause) =>
      dsn(
        { from: 'Mailer Daemon <MAILER-DAEMON@mx.example.net>', subject: 'Delivery status notification: error' },
        `    Hi!\n\n    This is the MAILER-DAEMON, please DO NOT REPLY to this email.\n\n    An error has occurred while attempting to deliver a message for\n    the following list of recipients:\n\nann@example.net: ${said(cause)}\n\n    Below is a copy of the original message:`,
        `Final-Recipient: rfc822; ann@example.net\nAction: failed\nStatus: 5.0.0\n`,
      ),
  ],
  [
    'DragonFly dma',
    (cause) =>
      plain(
        { from: 'MAILER-DAEMON <>', subject: 'Mail delivery failed' },
        `This is the DragonFly Mail Agent v0.13 at mx.example.net.\n\nThere was an error delivering your mail to <ann@example.net>.\n\n${cause.reply ? `mail.example.net [198.51.100.7] did not like our RCPT TO:\n${cause.reply}` : cause.words}\n\nMessage headers follow.\n\n${COPY}`,
      ),
  ],
  [
    'fields in a text part, as of WorkMail',
    (cause) =>
      parts(
        { from: 'MAILER-DAEMON@amazonses.example', subject: 'Delivery Status Notification (Failure)' },
        'multipart/report; report-type=delivery-status',
        [
          [
            'text/plain',
            `An error occurred while trying to deliver the mail to the following recipients:\nann@example.net`,
          ],
          [
            'text/plain',
            `Reporting-MTA: dns; a1.amazonses.example\n\nFinal-Recipient: rfc822; ann@example.net\nAction: failed\nStatus: ${statusOf(cause) ?? '5.0.0'}\nDiagnostic-Code: smtp; ${said(cause)}\n`,
          ],
          ['message/rfc822', COPY],
        ],
      ),
  ],
  [
    'Zoho',
    (cause) =>
      plain(
        { from: 'mailer-daemon@mail.zoho.example', subject: 'Undelivered Mail Returned to Sender' },
        `This message was created automatically by mail delivery software.\n A message that you sent could not be delivered to one or more of its recipients. This is a permanent error.\n\nann@example.net ERROR_CODE :${said(cause)}\n\nReceived: from mail.sender.example by mx.zoho.example\n${COPY}`,
      ),
  ],
  [
    'IONOS',
    (cause) =>
      plain(
        {
          from: 'Mail Delivery System <mailer-daemon@kundenserver.example>',
          subject: 'Mail delivery failed: returning message to sender',
          more: 'Auto-Submitted: auto-replied\n',
        },
        `This message was created automatically by mail delivery software.\n\nA message that you sent could not be delivered to one or more of\nits recipients. This is a permanent error.\n\nThe following address failed:\n\nann@example.net:\n${cause.reply ? `SMTP error from remote server for RCPT TO command, host: mail.example.net (198.51.100.7) reason: ${cause.reply}` : cause.words}\n\n--- The header of the original message is following. ---\n\n${COPY}`,
      ),
  ],
  [
    'Mimecast',
    (cause) =>
      plain(
        { from: 'MAILER-DAEMON@eu-smtp-1.mimecast.example', subject: '[Postmaster] Email Delivery Failure' },
        `This is a delivery failure notification message indicating that\nan email you addressed to email address :\n-- ann@example.net\n\ncould not be delivered. The problem appears to be :\n-- Recipient email server rejected the message\n\nAdditional information follows :\n-- ${said(cause)}\n\nThis condition occurred after 1 attempt(s) to deliver over\na period of 0 hour(s).`,
      ),
  ],
  [
    'KDDI',
    (cause) =>
      plain(
        { from: 'Postmaster@ezweb.example', subject: 'Mail System Error - Returned Mail' },
        `The user(s) account is disabled? No: see below.\nEach of the following recipients was rejected by a remote mail server.\n\n<ann@example.net>: ${said(cause)}\n\n--- Original message ---\n${COPY}`.replace(
          'The user(s) account is disabled? No: see below.\n',
          '',
        ),
      ),
  ],
  [
    'Domino',
    (cause) =>
      plain(
        { from: 'Postmaster@domino.example', subject: 'DELIVERY FAILURE: Your order' },
        `Your message\n\n  Subject: Your order\n\nwas not delivered to:\n\n  ann@example.net\n\nbecause:\n\n  ${said(cause)}\n\nReceived: from mail.sender.example by domino.example\n${COPY}`,
      ),
  ],
  [
    'Courier',
    (cause) =>
      dsn(
        { from: '"Courier mail server at mx.example.net" <@>', subject: 'NOTICE: mail delivery status.' },
        `This is a delivery status notification from mx.example.net,\nrunning the Courier mail server, version 1.1.\n\nThe original message was received on Sat, 21 Nov 2026 10:00:00 +0000\n\n                           UNDELIVERABLE MAIL\n\nYour message to the following recipients cannot be delivered:\n\n<ann@example.net>:\n    mail.example.net [198.51.100.7]:\n>>> RCPT TO:<ann@example.net>\n<<< ${said(cause)}`,
        `Final-Recipient: rfc822; ann@example.net\nAction: failed\nStatus: 5.0.0\n${cause.reply ? `Remote-MTA: dns; mail.example.net [198.51.100.7]\nDiagnostic-Code: smtp; ${cause.reply}\n` : `Diagnostic-Code: unknown; ${cause.words}\n`}`,
      ),
  ],
  [
    'MDaemon and hMailServer',
    (cause) =>
      plain(
        { from: 'mailer-daemon@hmail.example', subject: 'Message undeliverable: Your order' },
        `Your message did not reach some or all of the intended recipients.\n\n   Sent: Sat, 21 Nov 2026 10:00:00 +0000\n   Subject: Your order\n\nThe following recipient(s) could not be reached:\n\nann@example.net\n   Error Type: SMTP\n   Remote server (198.51.100.7) issued an error.\n   hMailServer sent: RCPT TO:<ann@example.net>\n   Remote server replied: ${said(cause)}\n\nhMailServer\n`,
      ),
  ],
  [
    'a German system',
    (cause) =>
      plain(
        { from: 'Mail-System <postmaster@host.example>', subject: 'Unzustellbare Nachricht: Ihre Bestellung' },
        `Ihre Nachricht konnte nicht zugestellt werden.\n\nEmpfänger: ann@example.net\nGrund: ${said(cause)}\n\n----- Ursprüngliche Nachricht -----\n${COPY}`,
      ),
  ],
  [
    'a French system',
    (cause) =>
      plain(
        { from: 'Mail Delivery System <mailer-daemon@fai.example>', subject: 'Echec de la remise de votre message' },
        `Votre message n'a pas pu être remis au destinataire suivant :\n\n<ann@example.net>\nRaison : ${said(cause)}\n\n-- Message original --\n${COPY}`,
      ),
  ],
]
