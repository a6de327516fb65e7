/** The engine's deadlines in milliseconds, and how many connections it keeps. */
export interface EngineLimits {
  /**
   * The share of the budget that is kept for the reply to the final dot: at least `dotAtLeastMs`, at most
   * `dotShareAtMost`.
   */
  dotShare: number
  dotAtLeastMs: number
  dotShareAtMost: number
  /**
   * The share of the time before the dot that a send which waits for a connection keeps for the conversation itself.
   */
  talkShare: number
  connectMs: number
  /** How long an address is tried alone before the next one is tried beside it. */
  raceMs: number
  commandMs: number
  idleMs: number
  /** How long a host is used without TLS after a handshake with it failed. */
  cleartextMs: number
  /** How long a reply to the dot that came too late for its caller is waited for. */
  lateReplyMs: number
  /** The most connections that wait for late replies; one more closes the oldest. */
  lateReplies: number
}

export const ENGINE_LIMITS: EngineLimits = {
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

/** The deadlines of one delivery, on the clock of `performance.now()`. */
export interface Deadlines {
  /** The pool has given a connection. */
  slotMs: number
  /** The same for further domains of a site: a connection that is passed on to them needs no handshake. */
  nextSlotMs: number
  /** Everything before the final dot is done. */
  dotMs: number
  /** The reply to the dot has come. */
  endMs: number
}

export function deadlinesOf(startedAtMs: number, budgetMs: number, limits: EngineLimits): Deadlines {
  const endMs = startedAtMs + budgetMs
  const { dotShare, dotAtLeastMs, dotShareAtMost } = limits
  const dotMs = endMs - Math.min(budgetMs * dotShareAtMost, Math.max(budgetMs * dotShare, dotAtLeastMs))
  const talkMs = (dotMs - startedAtMs) * limits.talkShare
  return { slotMs: dotMs - talkMs, nextSlotMs: dotMs - talkMs * limits.talkShare, dotMs, endMs }
}

/** What one source address may ask of a site. */
export interface SiteLimits {
  connections: number
  /** The most messages over one connection; then a new one is opened. */
  messages: number
}

const DEFAULT: SiteLimits = { connections: 25, messages: 100 }

/**
 * By the end of the exchanger's name: the limits on the providers' postmaster pages, or a cautious guess without one.
 */
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
