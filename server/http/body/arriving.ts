import { fail } from '../../errors.ts'
import type { Call, RawRequest } from '../call.ts'

export interface Pace {
  bytesPerSecond: number
  /** The pace counts after this time. */
  afterMs: number
}

/** How often the pace is measured. */
const PACE_EVERY_MS = 250

/**
 * Yields the chunks of a body until it ends or `until` is aborted, which counts as its end. Throws when its time is up
 * or its caller leaves. The stream's own iterator would close the connection when reading stops half-way, and with it
 * the response.
 */
export async function* arriving(
  { raw, response }: Call,
  { timeoutMs, pace, isPaced, until }: ArrivalLimits,
): AsyncGenerator<Buffer> {
  const ends = new AbortController()
  let arrivedBytes = 0
  let pacedMs = 0
  // Counts ticks instead of the clock's time: a process that was stopped read nothing, and its callers were not slow.
  const measure = (required: Pace) => {
    if (isPaced?.()) pacedMs += PACE_EVERY_MS
    if (arrivedBytes < ((pacedMs - required.afterMs) / 1_000) * required.bytesPerSecond) ends.abort(tooSlow(required))
  }
  const ticks = pace && setInterval(measure, PACE_EVERY_MS, pace)
  const stop = () => ends.abort(ENDED)
  const timer = timeoutMs === undefined ? undefined : setTimeout(() => ends.abort(late(timeoutMs)), timeoutMs)
  const leave = () => ends.abort(raw.errored ?? new Error('the caller left'))
  response.once('close', leave)
  raw.once('error', leave)
  until?.addEventListener('abort', stop)
  try {
    while (!raw.readableEnded) {
      const chunk: Buffer | null = raw.read()
      if (chunk === null) {
        await readable(raw, ends.signal)
        continue
      }
      arrivedBytes += chunk.length
      yield chunk
    }
  } catch (error) {
    if (error !== ENDED) throw error
  } finally {
    clearTimeout(timer)
    clearInterval(ticks)
    response.off('close', leave)
    raw.off('error', leave)
    until?.removeEventListener('abort', stop)
    if (!raw.readableEnded) raw.resume()
  }
}

interface ArrivalLimits {
  timeoutMs?: number
  pace?: Pace
  /** Whether the pace counts at this moment. */
  isPaced?: () => boolean
  until?: AbortSignal
}

const ENDED = new Error('the body is taken as ended')

function readable(raw: RawRequest, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = () => {
      raw.off('readable', go)
      raw.off('end', go)
      signal.removeEventListener('abort', stop)
    }
    const go = () => {
      settle()
      resolve()
    }
    const stop = () => {
      settle()
      reject(signal.reason)
    }
    if (signal.aborted) return reject(signal.reason)
    raw.once('readable', go)
    raw.once('end', go)
    signal.addEventListener('abort', stop)
  })
}

/** The error for a body that did not arrive in time. */
export const late = (timeoutMs: number) =>
  fail('invalid_payload', `The body did not arrive within ${Math.ceil(timeoutMs / 1000)} s.`)

const tooSlow = ({ bytesPerSecond, afterMs }: Pace) =>
  fail(
    'invalid_payload',
    `The body arrives too slowly: after ${Math.ceil(afterMs / 1_000)} s it needs ${bytesPerSecond / 1_024} KiB a second on average.`,
  )
