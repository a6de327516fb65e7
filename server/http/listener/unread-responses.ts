import { constants } from 'node:http2'
import { callerKey } from '../../caller.ts'
import { holderOf } from '../body/body.ts'
import { PART } from '../body/byte-budget.ts'
import type { Call, RawResponse } from '../call.ts'
import type { Http2 } from './http2.ts'

export interface UnreadResponsesOptions {
  /** A response of which nothing is read for this long, or for up to twice as long, is aborted. */
  stalledMs: number
  /** Memory for what callers have not read yet of their responses. */
  maxBytes: number
}

export interface UnreadResponses {
  /** Counts what is written of a response; called before the first byte. */
  watch(response: RawResponse): void
  /** Stops the checks. */
  stop(): void
}

interface Holder {
  bytes: number
  /** Calls with an unread response, the oldest first. */
  calls: Call[]
}

const PERIOD_MS = 1_000
/** The memory is also checked when the responses begun since the last check reach this part of it. */
const EARLY_PART = 1 / 32

/**
 * Aborts responses whose callers do not read them, because the unread part takes memory. Those are the ones of which
 * nothing was read for a while, and the oldest one of a holder that has more than its part of the memory. The listener
 * calls it.
 */
export function limitUnreadResponses(
  inFlight: ReadonlySet<Call>,
  http2: Http2,
  { stalledMs, maxBytes }: UnreadResponsesOptions,
): UnreadResponses {
  const writtenBytes = new WeakMap<RawResponse, number>()
  let begunBytes = 0
  let before = new Map<Call, number>()

  function watch(response: RawResponse): void {
    // On HTTP/2 `end` calls `write`. On HTTP/1.1 it is given the whole body.
    const name = 'stream' in response ? 'write' : 'end'
    const write = response[name] as (...args: unknown[]) => unknown
    const counted = (...args: unknown[]) => {
      const result = write.apply(response, args)
      const [chunk] = args
      const isBody = typeof chunk === 'string' || chunk instanceof Uint8Array
      if (isBody) wrote(response, Buffer.byteLength(chunk))
      return result
    }
    Object.assign(response, { [name]: counted })
  }

  function wrote(response: RawResponse, bytes: number): void {
    const earlierBytes = writtenBytes.get(response) ?? 0
    writtenBytes.set(response, earlierBytes + bytes)
    if (earlierBytes > 0) return
    begunBytes += bytes + unwrittenBytes(response)
    if (begunBytes > maxBytes * EARLY_PART) limitHolders()
  }

  /** The part of a body that Fastify has not written yet: on HTTP/2 it writes pieces as the caller reads. */
  function unwrittenBytes(response: RawResponse): number {
    const bytes = writtenBytes.get(response)
    return bytes === undefined ? 0 : Math.max(0, Number(response.getHeader('content-length') ?? 0) - bytes)
  }

  /** 0 for an aborted response, whose call ends a little later. */
  function unreadBytes({ raw, response }: Call): number {
    const { destroyed } = 'stream' in raw ? raw.stream : raw.socket
    return destroyed ? 0 : response.writableLength + unwrittenBytes(response)
  }

  function limitHolders(): void {
    begunBytes = 0
    const holders = unreadByHolder(inFlight, unreadBytes)
    let free = maxBytes - holders.reduce((sum, { bytes }) => sum + bytes, 0)
    for (;;) {
      const largest = holders.reduce((most, next) => (next.bytes > most.bytes ? next : most), NONE)
      if (largest.bytes <= PART * free) return
      const call = largest.calls.shift()
      if (!call) return
      const bytes = unreadBytes(call)
      largest.bytes -= bytes
      free += bytes
      const accountId = call.values.get(callerKey)?.accountId
      call.log.warn({ request_id: call.id, account_id: accountId, unread_bytes: bytes }, 'aborted an unread response')
      abort(call)
    }
  }

  /** A streaming response changes its unread bytes with each message. Its own limit for slow readers ends it. */
  function abortStalled(): void {
    const now = new Map<Call, number>()
    for (const call of inFlight) {
      const bytes = unreadBytes(call)
      if (bytes === 0) continue
      if (before.get(call) === bytes) abort(call)
      else now.set(call, bytes)
    }
    before = now
  }

  function abort({ raw }: Call): void {
    if (!('stream' in raw)) return void raw.socket.destroy()
    const { stream } = raw
    const { session } = stream
    stream.close(constants.NGHTTP2_CANCEL)
    stream.destroy()
    // Other streams of the connection may still be read.
    if (session) http2.closeUnlessRead(session, stalledMs)
  }

  const timers = [setInterval(limitHolders, PERIOD_MS).unref(), setInterval(abortStalled, stalledMs).unref()]
  return {
    watch,
    stop: () => timers.forEach(clearInterval),
  }
}

const NONE: Holder = { bytes: 0, calls: [] }

function unreadByHolder(inFlight: ReadonlySet<Call>, unreadBytes: (call: Call) => number): Holder[] {
  const holders = new Map<string, Holder>()
  for (const call of inFlight) {
    const bytes = unreadBytes(call)
    if (bytes === 0) continue
    const name = holderOf(call)
    const holder = holders.get(name) ?? { bytes: 0, calls: [] }
    holder.bytes += bytes
    holder.calls.push(call)
    holders.set(name, holder)
  }
  return [...holders.values()]
}
