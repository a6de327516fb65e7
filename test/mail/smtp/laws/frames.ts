import type { Reply } from '../../../../mail/smtp/attempt.ts'

/** The words that a mail system puts around the reply that it reports. */
interface Frame {
  name: string
  around(said: string, reply: Reply): string[]
}

/** The reply with its codes joined by a hyphen, in quotes, as the Email Security Appliance and SES write it. */
const quoted = ({ code, enhanced, text }: Reply) => `${code}-'${[enhanced, text].filter(Boolean).join(' ')}'`

export const FRAMES: readonly Frame[] = [
  { name: 'the reply alone', around: (said) => [said] },
  {
    name: 'Postfix',
    around: (said) => [`host mx3.example.net[198.51.100.7] said: ${said} (in reply to RCPT TO command)`],
  },
  {
    name: 'qmail',
    around: (said) => [
      '<ann@example.net>:',
      '198.51.100.7 does not like recipient.',
      `Remote host said: ${said}`,
      'Giving up on 198.51.100.7.',
    ],
  },
  {
    name: 'qmail, refused content',
    around: (said) => [
      '<ann@example.net>:',
      '198.51.100.7 failed after I sent the message.',
      `Remote host said: ${said}`,
      'Giving up on 198.51.100.7.',
    ],
  },
  {
    name: 'an appliance that counts its attempts',
    around: (_, reply) => [`5.3.0 - Other mail system problem ${quoted(reply)} (delivery attempts: 0)`],
  },
  {
    name: 'an appliance that names an address error',
    around: (_, reply) => [`5.1.0 - Unknown address error ${quoted(reply)} (delivery attempts: 1)`],
  },
  { name: 'SES', around: (said) => [`smtp; ${said} (delivery attempts: 0)`] },
  {
    name: 'Exchange',
    around: (said) => [`mx3.example.net`, `Remote Server returned '${said}'`],
  },
  { name: 'Exchange with pointed brackets', around: (said) => [`Remote Server returned '<mx3.example.net #${said}>'`] },
  {
    name: 'Exim',
    around: (said) => [
      'ann@example.net',
      'host mx3.example.net [198.51.100.7]',
      `SMTP error from remote mail server after RCPT TO:<ann@example.net>: ${said}`,
    ],
  },
  {
    name: 'Sendmail',
    around: (said) => ['... while talking to mx3.example.net.:', '>>> RCPT To:<ann@example.net>', `<<< ${said}`],
  },
  { name: 'Google', around: (said) => ['The response from the remote server was:', said] },
]
