import { accepted, slowed, succeeded } from '../../mail/smtp/site-pace.ts'
import type { SiteBook, SiteHolder } from '../db/json-columns.ts'
import { fairTargets, type PlaceClaim } from './fair-targets.ts'

// What all processes that send from one address do at one site. A row of `site_books` holds it, and every process
// changes it by `exchangeBook`: it says what it needs and what has happened, and gets places until a time.

/**
 * How long places are held without another exchange. The holder stops using them by then. A send may wait for a place
 * for 10 s: what a crashed process held is free before that.
 */
export const HOLD_MS = 7_000
/** Others take the places of a holder this long after its time: clocks of processes differ by less. */
const GRACE_MS = 2_000
/** Messages are given out this far ahead of their time. */
const AHEAD_MS = 2_000
/**
 * The share of `perMinute` that is given out over time. A message is counted before its connection is dialled, so a
 * site may see the messages of a little over a minute within one.
 */
const STEADY = 0.85
/** How much of the pace all processes together may keep in stock. */
const STOCK_MS = 500
/** Every process may keep one message, unless that is more than this share of `perMinute` over all processes. */
const STOCK_SHARE = 0.05

/** What a process asks, and what has happened since it asked before. Times are the database's. */
export interface Ask {
  process: string
  limits: SiteBook['limits']
  open: number
  accepted: number
  wanted: number
  /** The messages that it wants to send soon or to keep in stock. */
  messages: number
  /** A connection was refused because of the number of connections, or a message because of the rate: see `slowed`. */
  refusal?: { beganAtMs: number; reply: string; mailed?: number }
  /** A message was delivered. */
  succeeded: boolean
  nowMs: number
}

export interface Grant {
  /** The connections that the process may open or keep. Those over it are closed as soon as they are idle. */
  places: number
  untilMs: number
  /** When each of the granted messages may go; absent where the site has no limit a minute. */
  dueMs?: number[]
  /** How many messages the process may keep for later. */
  maxStock: number
  /** Another process waits for a place, or this one does: exchange again soon. */
  isContended: boolean
}

export const EMPTY_BOOK: SiteBook = { limits: { connections: 0, messages: 0 }, holders: {}, dueMs: 0 }

/** The book after an exchange, and what the process gets. */
export function exchangeBook(before: SiteBook, ask: Ask): { book: SiteBook; grant: Grant } {
  const { process, nowMs } = ask
  const others = Object.entries(before.holders).filter(
    ([holder, { untilMs }]) => holder !== process && untilMs + GRACE_MS > nowMs,
  )
  const paced = paceAfter(before, ask, sumOf(others, 'accepted'))
  const ceiling = Math.min(ask.limits.connections, paced.pace?.places ?? ask.limits.connections)
  const waitingSinceMs = before.holders[process]?.waitingSinceMs ?? nowMs
  const self = { places: ask.open, wanted: ask.wanted, waitingSinceMs }
  const claims = new Map<string, PlaceClaim>([...others, [process, self]])
  const target = fairTargets(claims, ceiling, nowMs)
  const free = Math.max(0, ceiling - sumOf(others, 'places'))
  const own = target.get(process) ?? 0
  const places = Math.min(own, free)
  const isWaiting = places === 0 && ask.wanted > 0
  const held: SiteHolder = {
    // What is open counts until it is closed.
    places: Math.max(places, ask.open),
    open: ask.open,
    accepted: ask.accepted,
    wanted: ask.wanted,
    untilMs: nowMs + HOLD_MS,
    ...(isWaiting && { waitingSinceMs }),
  }
  const holders = Object.fromEntries(others)
  if (held.places > 0 || held.wanted > 0) holders[process] = held
  const isContended = own > places || others.some(([holder, { places }]) => (target.get(holder) ?? 0) > places)
  const { perMinute = ask.limits.perMinute } = paced.pace ?? {}
  const { dueMs, due } = give(Math.max(before.dueMs, nowMs), perMinute, ask)
  const maxStock = perMinute === undefined ? 0 : stockOf(perMinute, claims.size)
  const book = { limits: ask.limits, ...paced, holders, dueMs }
  return { book, grant: { places, untilMs: held.untilMs, dueMs: due, maxStock, isContended } }
}

/** The messages that are due within AHEAD_MS, at most those asked for. */
function give(fromMs: number, perMinute: number | undefined, { messages, nowMs }: Ask) {
  if (perMinute === undefined) return { dueMs: fromMs, due: undefined }
  const everyMs = 60_000 / (perMinute * STEADY)
  const ahead = Math.max(0, Math.ceil((nowMs + AHEAD_MS - fromMs) / everyMs))
  const count = Math.min(messages, ahead)
  return { dueMs: fromMs + count * everyMs, due: Array.from({ length: count }, (_, i) => fromMs + i * everyMs) }
}

function stockOf(perMinute: number, processes: number): number {
  const least = perMinute * STOCK_SHARE >= processes ? 1 : 0
  return Math.max(least, Math.floor((perMinute * STOCK_MS) / 60_000 / processes))
}

function paceAfter(
  before: SiteBook,
  ask: Ask,
  acceptedByOthers: number,
): Pick<SiteBook, 'pace' | 'slowedSinceMs' | 'lastReply'> {
  const { limits, refusal, nowMs } = ask
  const open = ask.accepted + acceptedByOthers
  let { pace, slowedSinceMs, lastReply } = before
  if (refusal) {
    const { reply, beganAtMs, mailed } = refusal
    pace = slowed(pace, { open, beganAtMs, nowMs, mailed }, limits.perMinute)
    slowedSinceMs ??= nowMs
    lastReply = { text: reply, atMs: nowMs }
  } else if (pace) pace = accepted(pace, open)
  if (pace && ask.succeeded) pace = succeeded(pace, limits, nowMs)
  return { lastReply, ...(pace && { pace, slowedSinceMs }) }
}

function sumOf(holders: [string, SiteHolder][], field: 'places' | 'accepted'): number {
  return holders.reduce((sum, [, holder]) => sum + holder[field], 0)
}
