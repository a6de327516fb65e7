import { type Cause, COPY, dsn, parts, plain, SHAPES } from './report-shapes.ts'

/** A mail that came back, and the verdict that a person gives it: a reason, `no reason`, `complaint` or `none`. */
export interface LabelledReport {
  source: string
  verdict: string
  /** As in `LabelledReply`. */
  kind: string
  mail: string
  /** True when the envelope names a sender. */
  hasSender?: true
}

export type LabelledCause = Cause & { verdict: string; kind: string }

const CAUSES: LabelledCause[] = [
  { reply: '550 5.1.1 <ann@example.net>: User unknown', verdict: 'mailbox_does_not_exist', kind: 'unknown' },
  { reply: '550 No such user here', verdict: 'mailbox_does_not_exist', kind: 'unknown' },
  { reply: '552 5.2.2 Mailbox is over quota', verdict: 'mailbox_full', kind: 'full' },
  { reply: '554 5.7.1 Message rejected as spam by content scanning', verdict: 'spam_blocked', kind: '-' },
  {
    reply: '550 5.7.1 Service unavailable; client host [198.51.100.9] blocked using zen.spamhaus.org',
    verdict: 'policy_block',
    kind: '-',
  },
  {
    reply: '',
    words: 'connect to mail.example.net[198.51.100.7]:25: Connection timed out',
    verdict: 'connection_timeout',
    kind: '-',
  },
  {
    reply: '',
    words: 'Host or domain name not found. Name service error for name=example.net type=MX: Host not found',
    verdict: 'no_mx_record',
    kind: '-',
  },
]

const AUTO: [string, string, string, string?][] = [
  [
    'vacation, English',
    'Ann <ann@example.net>',
    'Out of office: Your order',
    'I am out of the office. 550 5.1.1 User unknown is what others write.',
  ],
  [
    'vacation, German',
    'Ann <ann@example.net>',
    'Abwesenheit: Ihre Bestellung',
    'Ich bin im Urlaub. Mein Postfach ist voll.',
  ],
  [
    'vacation, French',
    'Ann <ann@example.net>',
    'Réponse automatique : absence',
    'Je suis absente. Utilisateur inconnu.',
  ],
  ['vacation, Spanish', 'Ann <ann@example.net>', 'Respuesta automática', 'El buzón está lleno.'],
  ['vacation, Italian', 'Ann <ann@example.net>', 'Risposta automatica: fuori sede', 'La casella è piena.'],
  ['vacation, Dutch', 'Ann <ann@example.net>', 'Afwezig: uw bestelling', 'Ik ben er niet. Mailbox is vol.'],
  [
    'a person',
    'Ann <ann@example.net>',
    'Re: Your order',
    'My old address ann@example.net does not exist any more: 550 5.1.1 User unknown.',
  ],
  [
    'someone who left',
    'Ann <ann@example.net>',
    'I no longer work here',
    'ann@example.net is no longer in use. User unknown.',
  ],
  [
    'a challenge',
    'Antispam <challenge@example.net>',
    'Please confirm that you sent this',
    'Your message to ann@example.net is held.',
  ],
  ['a ticket', 'Support <support@example.net>', 'Ticket 550 received', 'We received your message. 5.1.1'],
]

const head = { from: 'MAILER-DAEMON@mx.example.net (Mail Delivery System)', subject: 'Delivery notice' }

const NO_BOUNCES: [string, string][] = [
  [
    'Postfix, delayed',
    dsn(
      { ...head, subject: 'Delayed Mail (still being retried)' },
      'THIS IS A WARNING ONLY.\n\n<ann@example.net>: connect to mail.example.net: Connection timed out',
      'Final-Recipient: rfc822; ann@example.net\nAction: delayed\nStatus: 4.4.1\nDiagnostic-Code: X-Postfix; connect to mail.example.net: Connection timed out',
    ),
  ],
  [
    'Sendmail, delayed',
    dsn(
      { ...head, subject: 'Warning: could not send message for past 4 hours' },
      '** THIS IS A WARNING MESSAGE ONLY **',
      'Final-Recipient: RFC822; ann@example.net\nAction: delayed\nStatus: 4.2.0\nWill-Retry-Until: Thu, 26 Nov 2026 10:00:00 GMT',
    ),
  ],
  [
    'Exim, delayed',
    plain(
      {
        from: 'Mail Delivery System <Mailer-Daemon@mail.example.net>',
        subject: 'Warning: message 1abc delayed 24 hours',
      },
      'A message that you sent has not yet been delivered to one or more of its recipients after more than 24 hours.\n\n  ann@example.net\n    host mail.example.net: 451 4.7.1 try later\n\nNo action is required on your part. Delivery attempts will continue.',
    ),
  ],
  [
    'relayed',
    dsn(
      { ...head, subject: 'Successful Mail Delivery Report' },
      'Your message was relayed.',
      'Final-Recipient: rfc822; ann@example.net\nAction: relayed\nStatus: 2.0.0\nDiagnostic-Code: smtp; 250 2.0.0 Ok',
    ),
  ],
  [
    'delivered',
    dsn(
      { ...head, subject: 'Delivery Status Notification (Success)' },
      'Your message was successfully delivered to ann@example.net.',
      'Final-Recipient: rfc822; ann@example.net\nAction: delivered\nStatus: 2.1.5',
    ),
  ],
  [
    'expanded',
    dsn(
      head,
      'Your message was expanded.',
      'Final-Recipient: rfc822; ann@example.net\nAction: expanded\nStatus: 2.0.0',
    ),
  ],
  [
    'a receipt of reading',
    parts(
      { from: 'ann@example.net', subject: 'Read: Your order' },
      'multipart/report; report-type=disposition-notification',
      [
        ['text/plain', 'Your message was read.'],
        [
          'message/disposition-notification',
          'Final-Recipient: rfc822; ann@example.net\nDisposition: manual-action/MDN-sent-manually; displayed',
        ],
      ],
    ),
  ],
  [
    'not spam',
    parts({ from: 'fbl@example.net', subject: 'not spam' }, 'multipart/report; report-type=feedback-report', [
      ['text/plain', 'This is no abuse report.'],
      [
        'message/feedback-report',
        'Feedback-Type: not-spam\nUser-Agent: x/1\nVersion: 1\nOriginal-Rcpt-To: ann@example.net',
      ],
      ['message/rfc822', COPY],
    ]),
  ],
  [
    'failed authentication',
    parts(
      { from: 'noreply-dmarc@example.net', subject: 'DMARC failure' },
      'multipart/report; report-type=feedback-report',
      [
        ['text/plain', 'An authentication failure.'],
        [
          'message/feedback-report',
          'Feedback-Type: auth-failure\nUser-Agent: x/1\nVersion: 1\nOriginal-Rcpt-To: ann@example.net',
        ],
        ['message/rfc822', COPY],
      ],
    ),
  ],
  [
    'a forwarded bounce',
    parts({ from: 'Ann <ann@example.net>', subject: 'Fwd: failure notice' }, 'multipart/mixed', [
      ['text/plain', 'Look what I got.'],
      ['message/rfc822', SHAPES[0]![1](CAUSES[0]!).replaceAll('=_p', '=_inner')],
    ]),
  ],
  [
    'a newsletter',
    plain(
      { from: 'News <news@example.net>', subject: 'Delivery problems and how to avoid them' },
      '550 5.1.1 User unknown is the most frequent reply. ann@example.net',
    ),
  ],
  [
    'a DMARC aggregate',
    plain({ from: 'noreply-dmarc-support@example.net', subject: 'Report domain: sender.example' }, 'report attached'),
  ],
]

const complaint = (fields: string, type = 'abuse') =>
  parts(
    { from: 'fbl@provider.example', subject: 'complaint about message from 192.0.2.25' },
    'multipart/report; report-type=feedback-report',
    [
      ['text/plain', 'This is an email abuse report.'],
      ['message/feedback-report', `Feedback-Type: ${type}\nUser-Agent: Some/1.0\nVersion: 1\n${fields}`],
      ['message/rfc822', COPY],
    ],
  )

const OTHERS: LabelledReport[] = [
  {
    source: 'a bare code',
    verdict: 'no reason',
    kind: '-',
    mail: dsn(
      head,
      'It did not work.',
      'Final-Recipient: rfc822; ann@example.net\nAction: failed\nStatus: 5.0.0\nDiagnostic-Code: smtp; 550',
    ),
  },
  {
    source: 'no code at all',
    verdict: 'no reason',
    kind: '-',
    mail: dsn(head, 'Undelivered.', 'Final-Recipient: rfc822; ann@example.net\nAction: failed\nStatus: 5.0.0'),
  },
  {
    source: 'a status alone',
    verdict: 'mailbox_does_not_exist',
    kind: 'status',
    mail: dsn(head, 'Undelivered.', 'Final-Recipient: rfc822; ann@example.net\nAction: failed\nStatus: 5.1.1'),
  },
  {
    source: 'given up',
    verdict: 'mailbox_full',
    kind: 'full',
    mail: dsn(
      head,
      'Given up.',
      'Final-Recipient: rfc822; ann@example.net\nAction: failed\nStatus: 4.2.2\nDiagnostic-Code: smtp; 452 4.2.2 Mailbox full',
    ),
  },
  {
    source: 'expired',
    verdict: 'connection_timeout',
    kind: '-',
    mail: dsn(
      head,
      'Given up.',
      'Final-Recipient: rfc822; ann@example.net\nAction: failed\nStatus: 4.4.7\nDiagnostic-Code: smtp; 550 4.4.7 QUEUE.Expired; message expired',
    ),
  },
  {
    source: 'local delivery',
    verdict: 'mailbox_does_not_exist',
    kind: 'refused',
    mail: dsn(
      head,
      '<ann@example.net>: unknown user: "ann"',
      'Final-Recipient: rfc822; ann@example.net\nAction: failed\nStatus: 5.1.1\nDiagnostic-Code: x-unix; unknown user: "ann"',
    ),
  },
  {
    source: 'a mailbox in words',
    verdict: 'mailbox_full',
    kind: 'full',
    mail: plain(
      { from: 'Postmaster@ezweb.example', subject: 'Mail System Error - Returned Mail' },
      `Your mail sent on: Sat, 21 Nov 2026\nCould not be delivered to:\n\n<ann@example.net>\n\nAs their mailbox is full.\n`,
    ),
  },
  {
    source: 'a mailbox in German words',
    verdict: 'mailbox_does_not_exist',
    kind: 'refused',
    mail: plain(
      { from: 'postmaster@host.example', subject: 'Unzustellbar: Ihre Bestellung' },
      'Ihre Nachricht an ann@example.net konnte nicht zugestellt werden, da der Empfänger unbekannt ist.',
    ),
  },
  {
    source: 'Yahoo',
    verdict: 'complaint',
    kind: '-',
    mail: complaint('Original-Rcpt-To: ann@example.net\nSource-IP: 192.0.2.25\n'),
  },
  {
    source: 'fraud',
    verdict: 'complaint',
    kind: '-',
    mail: complaint('Original-Rcpt-To: ann@example.net\n', 'fraud'),
  },
  {
    source: 'Microsoft',
    verdict: 'complaint',
    kind: '-',
    mail: parts({ from: 'staff@hotmail.example', subject: 'complaint' }, 'multipart/mixed', [
      ['message/rfc822', `X-HmXmrOriginalRecipient: <ann@example.net>\n${COPY}`],
    ]),
  },
  {
    source: 'a bounce from a sender with a name',
    verdict: 'none',
    kind: '-',
    hasSender: true,
    mail: SHAPES.find(([name]) => name === 'qmail')![1](CAUSES[0]!),
  },
  {
    source: 'a status behind a large copy',
    verdict: 'mailbox_does_not_exist',
    kind: 'unknown',
    mail: parts(head, 'multipart/report; report-type=delivery-status', [
      ['text/plain', 'Undelivered.'],
      ['message/rfc822', `${COPY}\n${'x'.repeat(76)}\n`.repeat(1).concat(`${'y'.repeat(76)}\n`.repeat(40_000))],
      [
        'message/delivery-status',
        'Reporting-MTA: dns; mx.example.net\n\nFinal-Recipient: rfc822; ann@example.net\nAction: failed\nStatus: 5.1.1\nDiagnostic-Code: smtp; 550 5.1.1 User unknown',
      ],
    ]),
  },
]

/** Calls its reports automatic replies: then words alone are no evidence. */
const AUTOMATIC = 'IONOS'

/** Each shape with each cause, and mails that report nothing. */
export function reportsOf(
  shapes: [string, (cause: Cause) => string][],
  causes: LabelledCause[],
  none: [source: string, from: string, subject: string, body: string, more?: string][],
  by = '',
): LabelledReport[] {
  return [
    ...shapes.flatMap(([shape, write]) =>
      causes.map((cause) => ({
        source: `${shape}${by}: ${cause.reply || cause.words}`,
        verdict: cause.verdict,
        kind: cause.kind,
        mail: write(cause),
      })),
    ),
    ...none.map(([source, from, subject, body, more]) => ({
      source,
      verdict: 'none',
      kind: '-',
      mail: plain({ from, subject, more }, body),
    })),
  ]
}

export function labelledReports(): LabelledReport[] {
  return [
    ...SHAPES.flatMap(([shape, write]) =>
      CAUSES.map((cause) => ({
        source: `${shape}: ${cause.reply || cause.words}`,
        verdict: shape === AUTOMATIC && !cause.reply ? 'none' : cause.verdict,
        kind: cause.kind,
        mail: write(cause),
      })),
    ),
    ...AUTO.map(([source, from, subject, body = '']) => ({
      source,
      verdict: 'none',
      kind: '-',
      mail: plain({ from, subject, more: 'Auto-Submitted: auto-replied\n' }, body),
    })),
    ...NO_BOUNCES.map(([source, mail]) => ({ source, verdict: 'none', kind: '-', mail })),
    ...OTHERS,
  ]
}
