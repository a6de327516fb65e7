import { eq } from 'drizzle-orm'
import type { DatabaseClock } from '../db/clock.ts'
import type { Database } from '../db/connect.ts'
import type { Sealer } from '../db/encryption.ts'
import { showId } from '../db/ids.ts'
import { dispatches } from '../db/schema.ts'
import type { TargetRow } from '../events/dispatches.ts'
import { type DeliveryEvent, payloadOf } from '../events/payload.ts'
import { beginFirst, beginNext, type Found, readEvents } from './begin.ts'
import { endStep, finishDispatches } from './end.ts'
import type { Post, Posted, PostOutcome } from './post.ts'
import { signedHeaders } from './signature.ts'
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
  /** `failed` and `acknowledged` are also said of what was so before; `ended` is a dispatch that is cancelled, exhausted or unknown. */
  state: 'acknowledged' | 'failed' | 'ended' | 'not_due'
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

/** One attempt: claim the row -> the endpoint and secret of now -> sign the bytes of the event -> POST -> record. */
export function createDeliveries({ db, clock, sealer, post, report }: DeliveryParts) {
  const targetOf = targets(sealer)
  const first = beginFirst(db)
  const next = beginNext(db)
  const eventOf = readEvents(db)
  const end = endStep(db)

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
    const posted = await post(url, headers, body, signal)
    const durationMs = performance.now() - beganMs
    report?.({ ...posted, dispatchId, eventId: event.id, number, durationMs })
    return { posted, ended: end({ ...posted, dispatchId, number, startedAtMs, durationMs, nextDelayMs }) }
  }

  /**
   * The first attempt of an event that was stored a moment ago, to the endpoint of that moment: `target`, or without it the one of
   * now. `ended` resolves when it is written down how it went. Undefined when it is not this process's to make any more.
   */
  async function deliverFirst(event: DeliveryEvent, nextDelayMs?: number, target?: TargetRow) {
    const row = target ?? (await first(event.id))
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
    const { posted, ended } = await make(attempt, begun.startedAtMs, begun, event)
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
