/** The engine's deadlines in milliseconds, and how many connections it keeps. */
export interface EngineLimits {
  /** The time that is kept for the reply to the final dot: no dot is sent with less. At most a share of the budget. */
  dotMs: number
  dotShareAtMost: number
  /**
   * The share of the time before the dot that a send which waits for a connection keeps for the conversation itself.
   */
  talkShare: number
  /** How long an address may be silent, where another host is left. */
  connectMs: number
  /** The same after two silent hosts. */
  hastyMs: number
  /** How long a host that was silent is asked last. */
  silentMs: number
  /** How long a host that let pipelined commands go without a reply gets one command at a time. */
  forgetfulMs: number
  /** How long an address is tried alone before the next one is tried beside it. */
  raceMs: number
  /** How long a server that was asked as a witness is not asked again: see reach.ts. */
  witnessPauseMs: number
  /**
   * How long a host may take for its greeting and for each command. After EHLO the last host may take what is left of
   * the time before the dot. RFC 5321 4.5.3.2 asks for minutes, and here a caller waits.
   */
  commandMs: number
  /** A server that takes longer for a reply to RCPT is expected to be on time with all recipients of a transaction. */
  slowRcptMs: number
  /** A reply to the dot that takes longer makes the next transactions of its site smaller. */
  slowDotMs: number
  /** How long a site is known to be slow. */
  slowSiteMs: number
  /** A transaction that takes longer shares the recipients that wait for it with further connections. */
  spreadMs: number
  idleMs: number
  /** How long a host is used without TLS after a handshake with it failed. */
  cleartextMs: number
  /** How long a reply to the dot is awaited that is too late for its caller: ten minutes (RFC 5321 4.5.3.2.6). */
  lateReplyMs: number
  /** The most connections that wait for late replies; one more closes the oldest. */
  lateReplies: number
}

export const ENGINE_LIMITS: EngineLimits = {
  dotMs: 15_000,
  dotShareAtMost: 0.75,
  talkShare: 1 / 3,
  connectMs: 5_000,
  hastyMs: 1_000,
  silentMs: 60_000,
  forgetfulMs: 3_600_000,
  raceMs: 250,
  witnessPauseMs: 3_000,
  commandMs: 10_000,
  slowRcptMs: 2_000,
  slowDotMs: 5_000,
  slowSiteMs: 3_600_000,
  spreadMs: 1_000,
  idleMs: 30_000,
  cleartextMs: 600_000,
  lateReplyMs: 600_000,
  lateReplies: 500,
}

/** The deadlines of one delivery, on the clock of `performance.now()`. */
export interface Deadlines {
  /** The pool has given a connection. */
  placeMs: number
  /** The same where a connection is passed on, which needs no handshake: for further domains, and at a slowed site. */
  nextPlaceMs: number
  /** Everything before the final dot is done. */
  dotMs: number
  /** The reply to the dot has come. */
  endMs: number
}

export function deadlinesOf(startedAtMs: number, budgetMs: number, limits: EngineLimits): Deadlines {
  const endMs = startedAtMs + budgetMs
  const dotMs = endMs - Math.min(limits.dotMs, budgetMs * limits.dotShareAtMost)
  const talkMs = (dotMs - startedAtMs) * limits.talkShare
  return { placeMs: dotMs - talkMs, nextPlaceMs: dotMs - talkMs * limits.talkShare, dotMs, endMs }
}

/** What one source address may ask of a site. */
export interface SiteLimits {
  connections: number
  /** The most messages over one connection; then a new one is opened. */
  messages: number
  /** The most messages a minute; without it there is no limit. */
  perMinute?: number
}
