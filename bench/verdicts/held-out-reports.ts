import type { Cause } from './report-shapes.ts'
import { COPY, dsn, parts, plain } from './report-shapes.ts'
import { type LabelledReport, reportsOf } from './reports.ts'

// Reports that were written after the readers, by the author of the readers, and run once before the readers saw them.
// What the first run misread is in docs/verdicts.md.

const SHAPES: [string, (cause: Cause) => string][] = [
  [
    'Kerio Connect',
    ({ reply, words }) =>
      dsn(
        {
          from: 'Mail Delivery Subsystem <postmaster@kerio.example>',
          subject: 'Delivery Status Notification (Failure)',
        },
        `The following addresses had permanent fatal errors:\n\nann@example.net\n\nReason: ${reply || words}`,
        `Final-Recipient: rfc822;ann@example.net\nAction: failed\nStatus: 5.0.0\nDiagnostic-Code: ${reply ? `smtp;${reply}` : `X-Local; ${words}`}\n`,
      ),
  ],
  [
    'CommuniGate',
    ({ reply, words }) =>
      dsn(
        { from: 'MAILER-DAEMON@cgp.example', subject: 'Undeliverable mail: Your order' },
        `Failed to deliver to 'ann@example.net'\n${reply ? `SMTP module(domain example.net) reports:\n ${reply}` : words}`,
        `Original-Recipient: rfc822;<ann@example.net>\nFinal-Recipient: system;<ann@example.net>\nAction: failed\nStatus: 5.0.0\n`,
      ),
  ],
  [
    'Symantec Messaging Gateway',
    ({ reply, words }) =>
      plain(
        { from: 'MAILER-DAEMON@gw.example', subject: 'Delivery Failure Notification' },
        `Your message could not be delivered to the following recipient(s):\n\nann@example.net (${reply || words})\n\nThe original message headers are attached.\n`,
      ),
  ],
  [
    'IMail',
    ({ reply, words }) =>
      plain(
        { from: 'Postmaster <postmaster@imail.example>', subject: 'Undeliverable Mail' },
        `undeliverable to ann@example.net\n\nremote server said: ${reply || words}\n\nOriginal message follows.\n\n${COPY}`,
      ),
  ],
  [
    'a hosted relay in English',
    ({ reply, words }) =>
      plain(
        { from: '"Mail Administrator" <Postmaster@relay.example>', subject: 'Mail System Error - Returned Mail' },
        `This Message was undeliverable due to the following reason:\n\nThe message to <ann@example.net> was refused.\n\nPlease reply to Postmaster@relay.example\nif you feel this message to be in error.\n\n${reply || words}\n`,
      ),
  ],
  [
    'a Spanish system',
    ({ reply, words }) =>
      plain(
        { from: 'Sistema de correo <mailer-daemon@proveedor.example>', subject: 'No se ha podido entregar su mensaje' },
        `Su mensaje no se pudo entregar a:\n\nann@example.net\n\nEl servidor remoto respondió: ${reply || words}\n\n--- Mensaje original ---\n${COPY}`,
      ),
  ],
  [
    'an Italian system',
    ({ reply, words }) =>
      plain(
        { from: 'MAILER-DAEMON@gestore.example', subject: 'Mancata consegna del messaggio' },
        `Il messaggio non è stato consegnato a <ann@example.net>:\n${reply || words}\n\n--- messaggio originale ---\n${COPY}`,
      ),
  ],
  [
    'a Dutch system',
    ({ reply, words }) =>
      plain(
        { from: 'Postmaster <postmaster@aanbieder.example>', subject: 'Onbestelbaar: uw bestelling' },
        `Uw bericht aan ann@example.net kon niet worden bezorgd.\n\nMelding: ${reply || words}\n`,
      ),
  ],
  [
    'a status part of a generic type',
    ({ reply, words }) =>
      parts({ from: 'MAILER-DAEMON@odd.example', subject: 'Returned mail' }, 'multipart/mixed', [
        ['text/plain', 'Your mail came back.'],
        [
          'application/octet-stream; name=status.txt',
          `Reporting-MTA: dns; odd.example\n\nFinal-Recipient: rfc822; ann@example.net\nAction: failed\nStatus: 5.0.0\nDiagnostic-Code: smtp; ${reply || words}\n`,
        ],
        ['message/rfc822', COPY],
      ]),
  ],
  [
    'James',
    ({ reply, words }) =>
      dsn(
        { from: 'postmaster@james.example', subject: 'Delivery failed' },
        `Hi. This is the James mail server at james.example.\nI'm afraid I wasn't able to deliver your message to the following addresses.\nThis is a permanent error; I've given up. Sorry it didn't work out. Below\nI include the list of recipients and the reason why I was unable to deliver\nyour message.\n\nFailed recipient(s):\nann@example.net\n\nError message:\n${reply || words}`,
        `Final-Recipient: rfc822; ann@example.net\nAction: failed\nStatus: 5.0.0\n`,
      ),
  ],
]

const CAUSES: (Cause & { verdict: string; kind: string })[] = [
  { reply: '550 5.1.1 Recipient unknown', verdict: 'mailbox_does_not_exist', kind: 'unknown' },
  { reply: '552 5.2.2 The mailbox is full', verdict: 'mailbox_full', kind: 'full' },
  { reply: '550 5.7.1 Access denied, your IP is on a block list', verdict: 'policy_block', kind: '-' },
  {
    reply: '',
    words: 'Delivery time expired, could not connect to the server',
    verdict: 'connection_timeout',
    kind: '-',
  },
]

const NONE: [string, string, string, string, string?][] = [
  [
    'vacation, Portuguese',
    'Ann <ann@example.net>',
    'Resposta automática: Férias',
    'Estou ausente. Usuário desconhecido.',
    'Auto-Submitted: auto-replied\n',
  ],
  ['vacation without a mark', 'Ann <ann@example.net>', 'I am away', 'My mailbox is full of mail, 552 5.2.2.'],
  [
    'vacation with a null sender',
    'ann@example.net',
    'Re: Your order',
    'I am on leave. 550 5.1.1 does not matter.',
    'X-Autoreply: yes\n',
  ],
  [
    'a delay in German',
    'Mail Delivery System <mailer-daemon@host.example>',
    'Zustellung verzögert: Ihre Bestellung',
    'Die Zustellung an ann@example.net ist verzögert: 451 try later. Es wird weiter versucht.',
  ],
  [
    'a delay in French',
    'postmaster@fai.example',
    'Remise retardée',
    'La remise à ann@example.net est retardée. 451 4.4.1',
  ],
  [
    'a success of Exchange',
    'postmaster@example.net',
    'Delivered: Your order',
    'Your message has been delivered to ann@example.net.',
  ],
  [
    'a success in words',
    'MAILER-DAEMON@x.example',
    'Delivery report: success',
    'The message was delivered successfully to ann@example.net.',
  ],
  [
    'spam',
    'Support <support@mailbox-admin.example>',
    'Your mailbox is full',
    'Your mailbox ann@example.net is over quota. Click here.',
  ],
]

export const heldOutReports = (): LabelledReport[] => reportsOf(SHAPES, CAUSES, NONE)
