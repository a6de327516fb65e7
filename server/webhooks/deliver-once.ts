import type { DatabaseClock } from '../db/clock.ts'
import type { Database } from '../db/connect.ts'
import type { DeliveryEvent } from '../db/delivery-event.ts'
import { eq } from '../db/drizzle.ts'
import type { Sealer } from '../db/encryption.ts'
import { showId } from '../db/ids.ts'
import { dispatches } from '../db/schema.ts'
import { beginFirst, beginNext, type Found, giveBack, readEvents } from './begin.ts'
import { endStep, finishDispatches } from './end.ts'
import { payloadOf } from './payload.ts'
import type { Post, Posted, PostOutcome } from './post.ts'
import { signedHeaders } from './signature.ts'
import type { TargetRow } from './target.ts'
import { targets } from './target.ts'

export interface Attempt {
  /** UUID. */
  dispatchId: string
  number: number
  /** Until the next attempt, should this one fail; undefined for the last. */
  nextDelayMs?: number
  /** Also before it is due: a person asked. */
  early?: boolean
  signal?: AbortSignal
}

export interface Made {
  /**
   * `failed` and `acknowledged` also stand for what was so before; `ended` is a dispatch that is cancelled, exhausted or unknown.
   * `not_due` and `no_place` (at the endpoint's origin) mean that no attempt was made, and its number is still to be used.
   */
  state: 'acknowledged' | 'failed' | 'ended' | 'not_due' | 'no_place'
  outcome?: PostOutcome
  statusCode?: number
}

/** One attempt of a dispatch. Throws only when we failed: nothing is known to be posted then, and it is to be called again. */
export type DeliverOnce = (attempt: Attempt) => Promise<Made>

export interface DeliveryParts {
  db: Database
  clock: DatabaseClock
  sealer: Sealer
  post: Post
  /** Hears of every attempt, for the log. */
  report?(attempt: Reported): void
}

export interface Reported extends Posted {
  dispatchId: string
  eventId: string
  number: number
  durationMs: number
}

/** One attempt: claim the row -> the current endpoint and secret -> sign the bytes of the event -> POST -> record. */
export function createDeliveries({ db, clock, sealer, post, report }: DeliveryParts) {
  const targetOf = targets(sealer)
  const first = beginFirst(db)
  const next = beginNext(db)
  const eventOf = readEvents(db)
  const end = endStep(db)

  /** Undefined when the account had no place at the origin: nothing was posted. */
  async function make(attempt: Attempt, startedAtMs: number, row: TargetRow, event: DeliveryEvent) {
    const { dispatchId, number, nextDelayMs, signal } = attempt
    const beganMs = performance.now()
    const { url, ...secrets } = targetOf(row)
    const body = payloadOf(event)
    const headers = signedHeaders({
      body,
      eventId: showId('evt', event.id),
      dispatchId: showId('dsp', dispatchId),
      attempt: number,
      timestamp: Math.floor(clock.now() / 1_000),
      ...secrets,
    })
    const posted = await post(url, headers, body, { accountId: event.accountId, signal })
    if (posted === undefined) return undefined
    const durationMs = performance.now() - beganMs
    report?.({ ...posted, dispatchId, eventId: event.id, number, durationMs })
    return { posted, ended: end({ ...posted, dispatchId, number, startedAtMs, durationMs, nextDelayMs }) }
  }

  /**
   * The first attempt of an event that was stored a moment ago, to the endpoint that its account has now. `ended` resolves when the
   * outcome is stored. Undefined when no attempt was made: this process no longer holds the lease, the account has no endpoint any
   * more, or no place at the endpoint's origin came free.
   */
  async function deliverFirst(event: DeliveryEvent, nextDelayMs?: number) {
    const row = await first(event.id)
    if (row === undefined) return undefined
    if (!hasEndpoint(row)) return void (await finishDispatches(db, [event.id], 'cancelled'))
    return make({ dispatchId: event.id, number: 1, nextDelayMs }, clock.now(), row, event)
  }

  async function deliverOnce(attempt: Attempt): Promise<Made> {
    const { dispatchId, number } = attempt
    const begun = await next(attempt)
    if (begun === undefined) return { state: (await wasAcknowledged(db, dispatchId)) ? 'acknowledged' : 'ended' }
    // Others of its group may have time left: it stays behind while they go on, until all of them are exhausted.
    if (begun.isLate) return { state: 'failed' }
    if (begun.attempt < number) throw new Error(`attempt ${number} of ${dispatchId} would skip ${begun.attempt}`)
    if (!hasEndpoint(begun)) return over(dispatchId)
    if (begun.startedAtMs === null) return { state: begun.attempt === number && !begun.isDue ? 'not_due' : 'failed' }
    const event = await eventOf(begun.eventId)
    if (event === undefined) return over(dispatchId)
    const made = await make(attempt, begun.startedAtMs, begun, event)
    if (made === undefined) {
      await giveBack(db, attempt)
      return { state: 'no_place' }
    }
    const { posted, ended } = made
    await ended
    const { outcome, statusCode } = posted
    return { state: outcome === 'acked' ? 'acknowledged' : 'failed', outcome, statusCode }
  }

  async function over(dispatchId: string): Promise<Made> {
    await finishDispatches(db, [dispatchId], 'cancelled')
    return { state: 'ended' }
  }

  return { deliverFirst, deliverOnce: deliverOnce satisfies DeliverOnce }
}

/** A dispatch that is over. */
async function wasAcknowledged(db: Database, id: string): Promise<boolean> {
  const [row] = await db.select({ state: dispatches.state }).from(dispatches).where(eq(dispatches.id, id))
  return row?.state === 'acknowledged'
}

const hasEndpoint = <Row extends Found>(row: Row): row is Row & TargetRow => row.url !== null
