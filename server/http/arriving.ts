import { fail } from '../errors.ts'
import type { Call, RawRequest } from './call.ts'

/**
 * The chunks of a body until it ends, its time is up, its caller leaves or `until` is aborted, which counts as its end. Not the
 * stream's own iterator, which would close the connection when reading stops half-way: the answer travels on it.
 */
export async function* arriving(
  { raw, response }: Call,
  { timeoutMs, until }: { timeoutMs?: number; until?: AbortSignal },
): AsyncGenerator<Buffer> {
  const ends = new AbortController()
  const stop = () => ends.abort(ENDED)
  const timer = timeoutMs === undefined ? undefined : setTimeout(() => ends.abort(late(timeoutMs)), timeoutMs)
  const leave = () => ends.abort(raw.errored ?? new Error('the caller left'))
  response.once('close', leave)
  raw.once('error', leave)
  until?.addEventListener('abort', stop)
  try {
    while (!raw.readableEnded) {
      const chunk: Buffer | null = raw.read()
      if (chunk === null) await readable(raw, ends.signal)
      else yield chunk
    }
  } catch (error) {
    if (error !== ENDED) throw error
  } finally {
    clearTimeout(timer)
    response.off('close', leave)
    raw.off('error', leave)
    until?.removeEventListener('abort', stop)
    if (!raw.readableEnded) raw.resume()
  }
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

/** Of a body that did not come in time. */
export const late = (timeoutMs: number) =>
  fail('invalid_payload', `The body did not arrive within ${Math.ceil(timeoutMs / 1000)} s.`)
