import {
  CUSTOMERS,
  customer,
  type DemoRefusal,
  RECIPIENT_DOMAINS,
  REFUSALS,
  type RecipientDomain,
  THROTTLED,
} from './mailboxes.ts'
import type { Random } from './random.ts'

// Plans the emails of a shop's week: their recipients, times and endings.

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS
export const WEEK_MS = 7 * DAY_MS

export const SHOP = 'shop.example'
export const NEWS = 'news.shop.example'

type Ending = 'delivered' | 'in_doubt' | 'connection_timeout' | DemoRefusal

export interface PlannedRecipient {
  name: string
  email: string
  domain: RecipientDomain
  ending: Ending
}

export interface PlannedEmail {
  /** Unix milliseconds. */
  atMs: number
  from: string
  fromDomain: string
  subject: string
  tag?: string
  tenantId?: string
  metadata: Record<string, string>
  /** A paragraph. */
  body: string
  recipients: PlannedRecipient[]
  sandbox: boolean
  /** Later the recipient's server returned it, or the recipient complained. */
  feedback?: 'late_bounce' | 'complaint'
}

interface MailKind {
  weight: number
  tag?: string
  fromDomain: string
  from: string
  subject(order: number): string
  body: string
}

const KINDS: readonly MailKind[] = [
  {
    weight: 34,
    tag: 'order',
    fromDomain: SHOP,
    from: `Shop <orders@${SHOP}>`,
    subject: (order) => `Your order ${order} is confirmed`,
    body: 'Thank you for your order. We write again as soon as it leaves our house.',
  },
  {
    weight: 26,
    tag: 'shipping',
    fromDomain: SHOP,
    from: `Shop <orders@${SHOP}>`,
    subject: (order) => `Order ${order} has shipped`,
    body: 'Your parcel is on its way, and arrives within two working days.',
  },
  {
    weight: 18,
    tag: 'receipt',
    fromDomain: SHOP,
    from: `Shop <billing@${SHOP}>`,
    subject: (order) => `Receipt for order ${order}`,
    body: 'We have received your payment. The receipt is below.',
  },
  {
    weight: 12,
    tag: 'sign-in',
    fromDomain: SHOP,
    from: `Shop <no-reply@${SHOP}>`,
    subject: () => 'Your sign-in code',
    body: 'Your code is 481 902. It works for ten minutes.',
  },
  {
    weight: 4,
    fromDomain: SHOP,
    from: `Shop <no-reply@${SHOP}>`,
    subject: () => 'Choose a new password',
    body: 'You asked for a new password. The link works for an hour.',
  },
  {
    weight: 6,
    tag: 'newsletter',
    fromDomain: NEWS,
    from: `Shop News <news@${NEWS}>`,
    subject: () => 'New in the shop this week',
    body: 'Autumn lamps, a new tea, and the linen that sold out in May.',
  },
]

const TENANTS = [
  { weight: 50, id: 'shop-berlin' },
  { weight: 30, id: 'shop-lyon' },
  { weight: 12, id: 'shop-porto' },
  { weight: 8, id: undefined },
]

/** Emails of each hour of a usual day (UTC), from 0 to 23. */
const HOURLY = [6, 4, 3, 3, 4, 8, 14, 22, 30, 36, 38, 36, 34, 36, 38, 36, 32, 30, 34, 38, 34, 26, 16, 10]

/** In these hours (UTC) of the day before yesterday Microsoft's servers slowed the shop down. */
const THROTTLED_HOURS = [9, 10]
/** Bounced or refused emails of a thousand. */
const REFUSED_PER_THOUSAND = 22
/** One email of this number comes back later, or leads to a complaint. */
const LATE_BOUNCE_EVERY = 300
const COMPLAINT_EVERY = 500

/** Plans the emails of the seven days before `nowMs`, the oldest first. */
export function planWeek(random: Random, nowMs: number): PlannedEmail[] {
  const emails: PlannedEmail[] = []
  for (let hour = Math.ceil((nowMs - WEEK_MS) / HOUR_MS) * HOUR_MS; hour < nowMs; hour += HOUR_MS) {
    const day = new Date(hour)
    const weekend = [0, 6].includes(day.getUTCDay()) ? 0.6 : 1
    const count = Math.round(HOURLY[day.getUTCHours()]! * weekend * (0.85 + random.share() * 0.3))
    const times = Array.from({ length: count }, () => hour + random.whole(0, HOUR_MS - 1)).sort((a, b) => a - b)
    for (const atMs of times) {
      const email = planEmail(random, atMs, nowMs)
      // An attempt of the webhook may follow a minute later.
      if (atMs < nowMs - 2 * MINUTE_MS) emails.push({ ...email, feedback: feedbackOf(email, emails.length, nowMs) })
    }
  }
  return emails
}

function planEmail(random: Random, atMs: number, nowMs: number): PlannedEmail {
  const { tag, fromDomain, from, subject, body } = random.weighted(KINDS)
  const order = 4_000 + Math.floor(((atMs - (nowMs - WEEK_MS)) / WEEK_MS) * 1_800)
  const planned = planRecipients(random, atMs, nowMs)
  return {
    atMs,
    from,
    fromDomain,
    subject: subject(order),
    tag,
    tenantId: random.weighted(TENANTS).id,
    metadata: { order: String(order), customer: String(planned[0]?.id) },
    body,
    recipients: planned.map(({ recipient }) => recipient),
    sandbox: random.whole(1, 1_000) <= 8,
  }
}

function feedbackOf({ atMs, recipients }: PlannedEmail, number: number, nowMs: number): PlannedEmail['feedback'] {
  if (recipients[0]?.ending !== 'delivered') return undefined
  // A complaint within the last day would put the domain at risk: the demo has to look healthy.
  if (number % COMPLAINT_EVERY === 250 && nowMs - atMs > 2 * DAY_MS) return 'complaint'
  return number % LATE_BOUNCE_EVERY === 100 ? 'late_bounce' : undefined
}

/** One recipient, and sometimes a colleague or two at the same domain. */
function planRecipients(random: Random, atMs: number, nowMs: number) {
  const domain = random.weighted(RECIPIENT_DOMAINS)
  const count = random.whole(1, 100) <= 4 ? random.whole(2, 3) : 1
  const numbers = new Set(Array.from({ length: count }, () => random.whole(0, CUSTOMERS - 1)))
  return [...numbers].map((number) => {
    const { id, name, email } = customer(number, domain.name)
    return { id, recipient: { name, email, domain, ending: planEnding(random, domain, atMs, nowMs) } }
  })
}

const daysBefore = (atMs: number, nowMs: number) => Math.floor(nowMs / DAY_MS) - Math.floor(atMs / DAY_MS)

function planEnding(random: Random, { mx }: RecipientDomain, atMs: number, nowMs: number): Ending {
  const isThrottled = daysBefore(atMs, nowMs) === 2 && THROTTLED_HOURS.includes(new Date(atMs).getUTCHours())
  if (isThrottled && mx.endsWith('outlook.com') && random.share() < 0.6) return THROTTLED
  const drawn = random.whole(1, 1_000)
  if (drawn <= REFUSED_PER_THOUSAND) return random.weighted(REFUSALS)
  if (drawn <= REFUSED_PER_THOUSAND + 2) return 'connection_timeout'
  if (drawn === REFUSED_PER_THOUSAND + 3 && nowMs - atMs > DAY_MS) return 'in_doubt'
  return 'delivered'
}
