/** The engine's patience and modesty, in milliseconds and counts. */
export interface Limits {
  /** What the reply to the final dot gets of the budget: this part, and at least `dotAtLeastMs` up to `dotShareAtMost`. */
  dotShare: number
  dotAtLeastMs: number
  dotShareAtMost: number
  /** What of the time before the dot is kept for the conversation itself when a connection has to be waited for. */
  talkShare: number
  connectMs: number
  /** The head start of an address over the next one. */
  raceMs: number
  commandMs: number
  idleMs: number
  /** A handshake that failed is not tried again at that host for so long. */
  cleartextMs: number
  /** A reply to the dot that came too late for its caller is waited for this long. */
  lateReplyMs: number
  /** So many connections wait for late replies; beyond, the oldest is closed. */
  lateReplies: number
}

export const LIMITS: Limits = {
  dotShare: 0.5,
  dotAtLeastMs: 15_000,
  dotShareAtMost: 0.75,
  talkShare: 1 / 3,
  connectMs: 5_000,
  raceMs: 250,
  commandMs: 10_000,
  idleMs: 30_000,
  cleartextMs: 600_000,
  lateReplyMs: 600_000,
  lateReplies: 500,
}

/** The moments of one delivery, on the clock of `performance.now()`. */
export interface Deadlines {
  /** For a connection of the pool. */
  slotMs: number
  /** For everything up to the final dot. */
  dotMs: number
  /** For its reply. */
  endMs: number
}

export function deadlinesOf(startedAtMs: number, budgetMs: number, limits: Limits): Deadlines {
  const endMs = startedAtMs + budgetMs
  const { dotShare, dotAtLeastMs, dotShareAtMost } = limits
  const dotMs = endMs - Math.min(budgetMs * dotShareAtMost, Math.max(budgetMs * dotShare, dotAtLeastMs))
  return { slotMs: dotMs - (dotMs - startedAtMs) * limits.talkShare, dotMs, endMs }
}

/** What a site gets from one source address. */
export interface SiteLimits {
  connections: number
  /** Messages over one connection, then a new one is opened. */
  messages: number
}

const DEFAULT: SiteLimits = { connections: 25, messages: 100 }

/** By the end of the exchanger's name: what the providers' postmaster pages ask for, or a cautious guess where they are silent. */
const PROVIDERS: [suffix: string, SiteLimits][] = [
  ['google.com', { connections: 10, messages: 50 }],
  ['googlemail.com', { connections: 10, messages: 50 }],
  ['outlook.com', { connections: 10, messages: 50 }],
  ['mx.microsoft', { connections: 10, messages: 50 }],
  ['yahoodns.net', { connections: 10, messages: 20 }],
  ['icloud.com', { connections: 10, messages: 5 }],
  ['mimecast.com', { connections: 10, messages: 100 }],
  ['comcast.net', { connections: 25, messages: 100 }],
  ['orange.fr', { connections: 3, messages: 100 }],
]

export function siteLimitsOf(mx: string): SiteLimits {
  const row = PROVIDERS.find(([suffix]) => mx === suffix || mx.endsWith(`.${suffix}`))
  return row?.[1] ?? DEFAULT
}
