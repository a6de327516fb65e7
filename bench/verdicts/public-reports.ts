import type { Cause } from './report-shapes.ts'
import { COPY, dsn, parts, plain } from './report-shapes.ts'
import { type LabelledReport, reportsOf } from './reports.ts'

// Reports that a second person wrote and labelled before the readers saw them, in the shape of systems that publish
// theirs. What the first run misread is in docs/verdicts.md.

const REMOTE = 'mx.example.net [198.51.100.7]'
const said = ({ reply, words = '' }: Cause) => reply || words
const diagnostic = (cause: Cause) => (cause.reply ? `Diagnostic-Code: smtp;${cause.reply}\n` : '')

const SHAPES: [string, (cause: Cause) => string][] = [
  [
    'Exchange Server without a status part',
    (cause) =>
      plain(
        { from: 'System Administrator <postmaster@corp.example>', subject: 'Undeliverable: Your order' },
        `Your message did not reach some or all of the intended recipients.\n\n      Subject:  Your order\n      Sent:     11/21/2026 10:00 AM\n\nThe following recipient(s) cannot be reached:\n\n      ann@example.net on 11/21/2026 10:00 AM\n            ${cause.reply ? `<corp.example #${cause.reply}>` : `Could not deliver the message in the time limit specified: ${cause.words}`}\n`,
      ),
  ],
  [
    'Exchange Server with diagnostic information',
    (cause) =>
      parts(
        { from: 'Microsoft Outlook <postmaster@corp.example>', subject: 'Undeliverable: Your order' },
        'multipart/mixed',
        [
          [
            'text/plain; charset=utf-8',
            `Delivery has failed to these recipients or groups:\n\nann@example.net\nThe message wasn't delivered. Please try again.\n\nDiagnostic information for administrators:\n\nGenerating server: ex01.corp.example\n\nann@example.net\n${cause.reply ? `${REMOTE} #<${REMOTE} #${/\d\.\d\.\d/.exec(cause.reply)?.[0] ?? '5.0.0'} smtp;${cause.reply}> #SMTP#` : `#< #4.4.7 smtp;550 4.4.7 QUEUE.Expired; ${cause.words}> #SMTP#`}\n\nOriginal message headers:\n\n${COPY}`,
          ],
          ['message/rfc822', COPY],
        ],
      ),
  ],
  [
    'Amazon SES',
    (cause) =>
      dsn(
        { from: 'MAILER-DAEMON@eu-west-1.amazonses.example', subject: 'Delivery Status Notification (Failure)' },
        `An error occurred while trying to deliver the mail to the following recipients:\nann@example.net`,
        `Action: failed\nFinal-Recipient: rfc822; ann@example.net\n${cause.reply ? `Diagnostic-Code: smtp; ${cause.reply}\nStatus: 5.0.0\n` : `Diagnostic-Code: smtp; 550 4.4.7 Message expired: ${cause.words}\nStatus: 4.4.7\n`}`,
      ),
  ],
  [
    'Yahoo',
    (cause) =>
      plain(
        { from: 'MAILER-DAEMON@yahoo.example', subject: 'Failure Notice' },
        `Sorry, we were unable to deliver your message to the following address.\n\n<ann@example.net>:\n${cause.reply ? cause.reply.replace(/^(\d{3}) /, '$1: ') : cause.words}\n\n--- Below this line is a copy of the message.\n\n${COPY}`,
      ),
  ],
  [
    'Oracle Messaging Server',
    (cause) =>
      dsn(
        {
          from: 'Internet Mail Delivery <postmaster@ims.example>',
          subject: 'Delivery Notification: Delivery has failed',
        },
        `This report relates to a message you sent with the following header fields:\n\n  Message-id: <msg_01@rp.sender.example>\n  Subject: Your order\n\nYour message cannot be delivered to the following recipients:\n\n  Recipient address: ann@example.net\n  Reason: ${cause.reply ? 'Remote SMTP server has rejected address' : cause.words}\n  ${cause.reply ? `Diagnostic code: smtp;${cause.reply}\n  Remote system: dns;mx.example.net (TCP|198.51.100.9|41234|198.51.100.7|25)` : ''}`,
        `Original-recipient: rfc822;ann@example.net\nFinal-recipient: rfc822;ann@example.net\nAction: failed\nStatus: ${cause.reply ? `5.1.1 (Remote SMTP server has rejected address)\nRemote-MTA: dns;mx.example.net\n${diagnostic(cause)}` : '4.4.7 (unable to deliver this message after 4 days)\n'}`,
      ),
  ],
  [
    'MailEnable',
    (cause) =>
      plain(
        { from: 'Postmaster <postmaster@me.example>', subject: 'Message Delivery Failure' },
        `MailEnable: Message Delivery Failure.\n\nThe following recipient(s) could not be reached:\n\n        Recipient: [SMTP:ann@example.net]\n        Reason: ${cause.reply ? `Remote SMTP Server Returned: ${cause.reply}` : cause.words}\n\nMessage headers follow:\n\n${COPY}`,
      ),
  ],
  [
    'SmarterMail',
    (cause) =>
      plain(
        { from: 'System Administrator <postmaster@sm.example>', subject: 'Delivery Failure' },
        `Could not deliver message to the following recipient(s):\n\nFailed Recipient: ann@example.net\nReason: ${cause.reply ? `Remote host said: ${cause.reply}` : cause.words}\n\n   -- The header and top 20 lines of the message follows --\n\n${COPY}`,
      ),
  ],
  [
    'InterScan',
    (cause) =>
      plain(
        { from: 'postmaster@iscan.example', subject: 'Mail could not be delivered' },
        `This is a delivery error message from the InterScan gateway at iscan.example.\n\nYour message to <ann@example.net> could not be delivered.\n\n${cause.reply ? `Sent <<< RCPT TO:<ann@example.net>\nReceived >>> ${cause.reply}` : cause.words}\n\n************ Undelivered mail ************\n${COPY}`,
      ),
  ],
  [
    'Mail.ru',
    (cause) =>
      plain(
        { from: 'mailer-daemon@corp.mail.example', subject: 'Mail failure.' },
        `Это письмо создано автоматически, отвечать на него не нужно.\n\nК сожалению, Ваше письмо не может быть доставлено одному или нескольким получателям:\n\n**********************\n\nann@example.net:\n${cause.reply ? `сервер ${REMOTE} ответил: ${cause.reply}` : cause.words}\n\n**********************\n\n${COPY}`,
      ),
  ],
  [
    'QQ',
    (cause) =>
      parts({ from: 'PostMaster@qq.example', subject: '系统退信/Systems bounce' }, 'multipart/mixed', [
        [
          'text/plain; charset=utf-8',
          `抱歉,您的邮件被退回来了。\n\n收件人邮件地址:\nann@example.net\n\n退信原因:\n${cause.reply ? `host ${REMOTE} said: ${cause.reply}` : cause.words}\n`,
        ],
        ['message/rfc822', COPY],
      ]),
  ],
  [
    'Hotmail',
    (cause) =>
      dsn(
        { from: 'postmaster@hotmail.example', subject: 'Delivery Status Notification (Failure)' },
        `This is an automatically generated Delivery Status Notification.\n\nDelivery to the following recipients failed.\n\n       ann@example.net`,
        `Final-Recipient: rfc822;ann@example.net\nAction: failed\nStatus: ${cause.reply ? '5.5.0' : '4.4.7'}\n${diagnostic(cause)}`,
      ),
  ],
  [
    'Sendmail behind an alias',
    (cause) =>
      dsn(
        {
          from: 'Mail Delivery Subsystem <MAILER-DAEMON@uni.example>',
          subject: 'Returned mail: see transcript for details',
        },
        `   ----- The following addresses had permanent fatal errors -----\n"|/usr/bin/forward"\n    (reason: ${said(cause)})\n    (expanded from: <ann@example.net>)\n\n   ----- Transcript of session follows -----\n${said(cause)}`,
        `Original-Recipient: RFC822; ann@example.net\nFinal-Recipient: RFC822; ann@uni.example\nAction: failed\nStatus: ${cause.reply ? '5.0.0' : '4.4.7'}\n${cause.reply ? `Diagnostic-Code: SMTP; ${cause.reply}\n` : ''}Last-Attempt-Date: Sat, 21 Nov 2026 10:00:01 GMT\n`,
      ),
  ],
  [
    'GroupWise',
    (cause) =>
      plain(
        { from: 'Mailer-Daemon@gw.example', subject: 'Message status - undeliverable' },
        `The message that you sent was undeliverable to the following:\n\tann@example.net (${said(cause)})\n\nPossibly truncated original message follows:\n\n${COPY}`,
      ),
  ],
  [
    'a Polish system',
    (cause) =>
      plain(
        { from: 'MAILER-DAEMON@poczta.example', subject: 'Niedostarczona wiadomość' },
        `Nie udało się dostarczyć Twojej wiadomości do adresata:\n\n<ann@example.net>: ${cause.reply ? `serwer ${REMOTE} odpowiedział: ${cause.reply}` : cause.words}\n\n${COPY}`,
      ),
  ],
  [
    'a Japanese system',
    (cause) =>
      plain(
        { from: 'MAILER-DAEMON@mail.co.example', subject: '配信できませんでした' },
        `次の宛先にメールを配信できませんでした。\n\n<ann@example.net>:\n${cause.reply ? `host ${REMOTE} said: ${cause.reply}` : cause.words}\n`,
      ),
  ],
  [
    'Stalwart',
    (cause) =>
      dsn(
        { from: 'Mail Delivery Subsystem <MAILER-DAEMON@stalwart.example>', subject: 'Failed to deliver message' },
        `Your message could not be delivered to the following recipients:\n\n<ann@example.net> (${cause.reply ? `host 'mx.example.net' rejected command 'RCPT TO:<ann@example.net>' with code ${cause.reply.slice(0, 3)} '${cause.reply.slice(4)}'` : cause.words})\n`,
        `Final-Recipient: rfc822;ann@example.net\nAction: failed\nStatus: ${cause.reply ? '5.0.0' : '4.4.7'}\n${cause.reply ? `Diagnostic-Code: smtp;${cause.reply}\nRemote-MTA: dns;mx.example.net\n` : ''}`,
      ),
  ],
]

const CAUSES: (Cause & { verdict: string; kind: string })[] = [
  {
    reply: '550 5.1.1 <ann@example.net>: Recipient address rejected: User unknown in virtual mailbox table',
    verdict: 'mailbox_does_not_exist',
    kind: 'unknown',
  },
  { reply: '552 5.2.2 The account is over its storage quota', verdict: 'mailbox_full', kind: 'full' },
  {
    reply: '550 5.7.26 Unauthenticated email from sender.example is not accepted due to the DMARC policy',
    verdict: 'policy_block',
    kind: '-',
  },
  {
    reply: '',
    words: 'connect to mx.example.net[198.51.100.7]:25: No route to host; gave up after 4 days',
    verdict: 'connection_timeout',
    kind: '-',
  },
]

const NONE: [string, string, string, string, string?][] = [
  [
    'vacation of Gmail',
    'Ann <ann@example.net>',
    'Out of office Re: Your order',
    'I am away until Monday. If it is urgent: 550 main street.',
    'Precedence: bulk\nX-Autoreply: yes\n',
  ],
  [
    'vacation of Exchange',
    'Ann <ann@example.net>',
    'Automatic reply: Your order',
    'I have left the company; this mailbox is not read any more. The address does not exist from May on.',
    'X-Auto-Response-Suppress: All\nAuto-Submitted: auto-generated\n',
  ],
  [
    'vacation, Polish',
    'Ann <ann@example.net>',
    'Automatyczna odpowiedź: urlop',
    'Jestem na urlopie. Użytkownik nieznany.',
    'Auto-Submitted: auto-replied\n',
  ],
  [
    'vacation, Japanese',
    'Ann <ann@example.net>',
    '自動応答: 不在',
    '不在にしております。宛先不明 550 5.1.1',
    'Auto-Submitted: auto-replied (vacation)\n',
  ],
  [
    'a delay of Exchange',
    'postmaster@corp.example',
    'Delivery delayed: Your order',
    'Delivery is delayed to these recipients or groups: ann@example.net. This message has not been delivered. The server will keep trying. 451 4.7.0',
  ],
  [
    'a delay of qmail',
    'MAILER-DAEMON@mail.example.net',
    'delayed: Your order',
    'Your message to <ann@example.net> has not been delivered for 4 hours. No action is required of you. 451 4.4.1',
  ],
  [
    'a list that holds a message',
    'list-owner@lists.example.net',
    'Your message to List awaits moderator approval',
    'Your mail to ann@example.net is being held: Post by non-member to a members-only list. 550 5.7.2',
    'Precedence: bulk\nX-List-Administrivia: yes\n',
  ],
  [
    'a quarantine notice',
    'quarantine@gw.example',
    'Quarantine summary',
    'One message from hello@sender.example to ann@example.net was quarantined: 554 spam.',
  ],
  [
    'a warning of quota',
    'postmaster@example.net',
    'Your mailbox is almost full',
    'ann@example.net uses 95 % of its quota. Please delete mail.',
    'Auto-Submitted: auto-generated\n',
  ],
  [
    'a change of address',
    'Ann <ann@example.net>',
    'My new address',
    'ann@example.net is closed, write to ann@example.org. Mail to the old address bounces with 550 5.1.1 User unknown.',
  ],
  [
    'a confirmation of support',
    'Helpdesk <help@example.net>',
    '[Ticket#5501] We have your message',
    'Thank you. Error 550 5.1.1 is explained on our pages.',
    'Auto-Submitted: auto-replied\n',
  ],
  [
    'a success of Postfix',
    'MAILER-DAEMON@mx.example.net (Mail Delivery System)',
    'Successful Mail Delivery Report',
    'This is the mail system at host mx.example.net. Your message was successfully delivered to the destination(s) listed below.\n\n<ann@example.net>: delivery via local: 250 2.0.0 delivered',
  ],
]

/** Shapes that were added after the first run. */
const MORE: [string, string, string, string][] = [
  [
    'a reply to MAIL FROM in a text',
    'policy_block',
    '-',
    plain(
      { from: 'Mail Delivery System <Mailer-Daemon@host.example>', subject: 'Mail delivery failed: returning message' },
      `The following address(es) failed:\n\n  ann@example.net\n    host ${REMOTE}\n    SMTP error from remote mail server after MAIL FROM:<b.01kctznv0zf3kanvqtfn6xkbd4.0123456789abcdef@rp.sender.example>:\n    553 5.1.0 that address does not exist here\n\n------ This is a copy of the message. ------\n${COPY}`,
    ),
  ],
  [
    'a reply to MAIL FROM in a status part',
    'policy_block',
    '-',
    dsn(
      { from: 'MAILER-DAEMON@mx.example.net', subject: 'Undelivered Mail Returned to Sender' },
      `<ann@example.net>: host ${REMOTE} said: 550 5.1.1 User unknown (in reply to MAIL FROM command)`,
      'Final-Recipient: rfc822; ann@example.net\nAction: failed\nStatus: 5.1.1\nDiagnostic-Code: smtp; 550 5.1.1 User unknown (in reply to MAIL FROM command)\n',
    ),
  ],
  [
    'a multipart whose boundary never comes',
    'mailbox_does_not_exist',
    'unknown',
    dsn(
      { from: 'MAILER-DAEMON@mx.example.net', subject: 'Undelivered Mail Returned to Sender' },
      '<ann@example.net>: 550 5.1.1 User unknown',
      'Final-Recipient: rfc822; ann@example.net\nAction: failed\nStatus: 5.1.1\nDiagnostic-Code: smtp; 550 5.1.1 User unknown\n',
    ).replace('boundary="=_p"', 'boundary="=_q"'),
  ],
  [
    'a message of a server between lines of hyphens',
    'mailbox_does_not_exist',
    'unknown',
    plain(
      { from: 'POSTMASTER <postmaster@filter.example>', subject: 'failure notice' },
      `ann@example.net\n\n-------server message\n550 unknown user <ann@example.net>\n\n-------SMTP command\nDATA\n\n-------original message\n${COPY}`,
    ),
  ],
  [
    'a notice from no-reply with a plain subject',
    'none',
    '-',
    plain(
      { from: 'no-reply@mail.carrier.example', subject: 'Mail' },
      'Your mail sent on: Sat, 21 Nov 2026 10:00:00 +0000\n     Could not be delivered to: <ann@example.net>\n     As their mailbox is full.\n',
    ),
  ],
  [
    'the status of a null MX, or of an unknown mailbox, without words',
    'mailbox_does_not_exist',
    'status',
    dsn(
      { from: 'MAILER-DAEMON@mx.example.net', subject: 'Undelivered Mail Returned to Sender' },
      '<ann@example.net>: it cannot be delivered',
      'Final-Recipient: rfc822; ann@example.net\nAction: failed\nStatus: 5.1.10\n',
    ),
  ],
  [
    'OpenSMTPD, whose action is an error',
    'mailbox_does_not_exist',
    'unknown',
    dsn(
      { from: 'Mailer Daemon <MAILER-DAEMON@bsd.example>', subject: 'Delivery status notification: error' },
      'An error has occurred while attempting to deliver a message for\nthe following list of recipients:\n\nann@example.net: 550 5.1.1 User unknown',
      'Final-Recipient: rfc822; ann@example.net\nAction: error\nStatus: 5.0.0\n',
    ),
  ],
  [
    'a subject that says not delivered',
    'mailbox_does_not_exist',
    'unknown',
    plain(
      { from: 'MAILER-DAEMON@qmail.example', subject: 'Mail Not Delivered' },
      `Unfortunately, your mail was not delivered to the following address:\n\n<ann@example.net>:\n198.51.100.7 does not like recipient.\nRemote host said: 550 User unknown\nGiving up on 198.51.100.7.\n\n${COPY}`,
    ),
  ],
  [
    'dma, given up',
    'connection_timeout',
    '-',
    plain(
      { from: 'MAILER-DAEMON <>', subject: 'Mail delivery failed' },
      `There was an error delivering your mail to <ann@example.net>.\n\nCould not deliver for the last 432000 seconds. Giving up.\n\nMessage headers follow.\n\n${COPY}`,
    ),
  ],
]

export const publicReports = (): LabelledReport[] => [
  ...MORE.map(([source, verdict, kind, mail]) => ({ source, verdict, kind, mail })),
  ...reportsOf(SHAPES, CAUSES, NONE, ', by its publisher'),
]
