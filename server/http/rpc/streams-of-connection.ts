import { fail } from '../../errors.ts'
import type { Call } from '../call.ts'

/** The most streams of a connection. Half of what it may have open in all stays free for other calls. */
const MOST = 50
const RETRY_SECONDS = 1

const open = new WeakMap<object, number>()

/** Counts a stream on its connection until it ends. Throws `rate_limit_exceeded` over the limit. */
export function countStream({ raw, signal }: Call): void {
  const connection = 'stream' in raw ? raw.stream.session : undefined
  if (!connection || signal.aborted) return
  const streams = open.get(connection) ?? 0
  if (streams >= MOST) {
    const message = `This connection has ${MOST} open streams. Close one, or open another connection.`
    throw fail('rate_limit_exceeded', message, { retryAfterSeconds: RETRY_SECONDS })
  }
  open.set(connection, streams + 1)
  signal.addEventListener('abort', () => open.set(connection, (open.get(connection) ?? 1) - 1), { once: true })
}
