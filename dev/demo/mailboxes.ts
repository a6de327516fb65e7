import type { Phase, Reply } from '../../mail/smtp/attempt.ts'

// The recipients of the demo. Their domains are reserved names (RFC 2606), so nothing can ever be sent to them. The
// names of the mail servers are those of providers, so that the overview groups by them. What they reply is invented.

export interface RecipientDomain {
  name: string
  /** Its share of the mail, relative to the other domains. */
  weight: number
  mx: string
  /** An address for documentation (RFC 5737, RFC 3849). */
  ip: string
  /** The usual time of one round trip, in milliseconds. */
  roundTripMs: number
  verifiedTls: boolean
  accepted: (queueId: string) => Reply
}

const ok = (text: (queueId: string) => string) => (queueId: string) => ({
  code: 250,
  enhanced: '2.0.0',
  text: text(queueId),
})

export const RECIPIENT_DOMAINS: readonly RecipientDomain[] = [
  {
    name: 'meadow.example',
    weight: 30,
    mx: 'aspmx.l.google.com',
    ip: '192.0.2.26',
    roundTripMs: 14,
    verifiedTls: true,
    accepted: ok((id) => `OK  ${id} - accepted for delivery`),
  },
  {
    name: 'harbour.example',
    weight: 18,
    mx: 'harbour-example.mail.protection.outlook.com',
    ip: '198.51.100.10',
    roundTripMs: 24,
    verifiedTls: true,
    accepted: ok((id) => `<${id}> Queued mail for delivery`),
  },
  {
    name: 'lindqvist.example',
    weight: 12,
    mx: 'lindqvist-example.mail.protection.outlook.com',
    ip: '198.51.100.42',
    roundTripMs: 28,
    verifiedTls: true,
    accepted: ok((id) => `<${id}> Queued mail for delivery`),
  },
  {
    name: 'kestrel.example',
    weight: 11,
    mx: 'mta6.am0.yahoodns.net',
    ip: '203.0.113.77',
    roundTripMs: 31,
    verifiedTls: true,
    accepted: ok((id) => `ok dirdel ${id}`),
  },
  {
    name: 'orchard.example',
    weight: 10,
    mx: 'mx01.mail.icloud.com',
    ip: '203.0.113.140',
    roundTripMs: 22,
    verifiedTls: true,
    accepted: ok((id) => `Ok: queued as ${id}`),
  },
  {
    name: 'bergmann.example',
    weight: 8,
    mx: 'mx00.gmx.net',
    ip: '192.0.2.117',
    roundTripMs: 11,
    verifiedTls: true,
    accepted: ok((id) => `Requested mail action okay, completed: id=${id}`),
  },
  {
    name: 'atelier-duval.example',
    weight: 7,
    mx: 'mail.atelier-duval.example',
    ip: '198.51.100.201',
    roundTripMs: 19,
    verifiedTls: false,
    accepted: ok((id) => `Ok: queued as ${id}`),
  },
  {
    name: 'rossi-studio.example',
    weight: 4,
    mx: 'mx.rossi-studio.example',
    ip: '2001:db8::2525',
    roundTripMs: 35,
    verifiedTls: true,
    accepted: ok((id) => `Message accepted as ${id}`),
  },
]

/** How a mail server refuses a recipient or a message. The rules of the service read what it means. */
export interface DemoRefusal {
  weight: number
  phase: Extract<Phase, 'rcpt' | 'dot'>
  reply: (email: string) => Reply
}

export const REFUSALS: readonly DemoRefusal[] = [
  {
    weight: 34,
    phase: 'rcpt',
    reply: (email) => ({ code: 550, enhanced: '5.1.1', text: `<${email}>: Recipient address rejected: user unknown` }),
  },
  {
    weight: 26,
    phase: 'rcpt',
    reply: (email) => ({ code: 452, enhanced: '4.2.2', text: `<${email}>: mailbox is full: quota exceeded` }),
  },
  {
    weight: 14,
    phase: 'dot',
    reply: () => ({ code: 550, enhanced: '5.7.1', text: 'Message rejected: its content looks like spam' }),
  },
  {
    weight: 14,
    phase: 'rcpt',
    reply: (email) => ({ code: 450, enhanced: '4.2.0', text: `<${email}>: greylisted, try again in 300 seconds` }),
  },
  {
    weight: 12,
    phase: 'rcpt',
    reply: () => ({ code: 554, enhanced: '5.7.1', text: 'Sender is not permitted by the policy of this organisation' }),
  },
]

/** What the servers at Microsoft replied for some hours: a story that the overview tells. */
export const THROTTLED: DemoRefusal = {
  weight: 1,
  phase: 'rcpt',
  reply: () => ({
    code: 451,
    enhanced: '4.7.500',
    text: 'Server busy: too much mail from this address. Please try again later',
  }),
}

const FIRST = (
  'ada alan amara anna anton aylin ben bruno carla chen chloe clara dana david elena emil erik eva farid felix ' +
  'freya greta hana hugo ida ines ivan jonas julia kaito karin lars lea leo lina luca maja marco maria mats mila ' +
  'nadia nils noor olga omar oskar paula pedro petra rafael rosa samir sara simon sofia stella tara theo tom uma vera'
).split(' ')
const LAST = (
  'ahmed almeida andersen baker bauer berg blanc bosch costa dahl diaz dupont eriksen fischer fontana garcia haas ' +
  'hansen ito jansen kaya keller kovacs lange larsen lee lopez martin meyer moreau nowak okafor olsen petrov ricci ' +
  'romano rossi santos sato schmidt silva sorensen tanaka torres visser weber wolf yilmaz young zhang'
).split(' ')

/** Customers at each domain. The same number is always the same person. */
export const CUSTOMERS = 200

export function customer(number: number, domain: string) {
  const [first, last] = [
    FIRST[number % FIRST.length]!,
    LAST[(number * 7 + Math.floor(number / FIRST.length)) % LAST.length]!,
  ]
  const capital = (word: string) => word.charAt(0).toUpperCase() + word.slice(1)
  return {
    name: `${capital(first)} ${capital(last)}`,
    email: `${first}.${last}@${domain}`,
    id: `cus_${10_000 + number}`,
  }
}
