import { constants } from 'node:http2'
import type { Call } from './call.ts'

/**
 * Looks every `withinMs` for calls whose caller has taken nothing of the answer since the last look, and closes them: what they
 * hold of the answer is memory. Returns the function that stops it.
 */
export function cutStalledAnswers(inFlight: ReadonlySet<Call>, withinMs: number): () => void {
  let before = new Map<Call, number>()
  function look(): void {
    const now = new Map<Call, number>()
    for (const call of inFlight) {
      const waiting = call.response.writableLength
      if (waiting === 0) continue
      if (before.get(call) === waiting) cut(call, withinMs)
      else now.set(call, waiting)
    }
    before = now
  }
  const timer = setInterval(look, withinMs).unref()
  return () => clearInterval(timer)
}

function cut({ raw }: Call, withinMs: number): void {
  if (!('stream' in raw)) return void raw.socket.destroy()
  const { stream } = raw
  const { session } = stream
  stream.close(constants.NGHTTP2_CANCEL)
  stream.destroy()
  // Others may share the connection and read well. A connection that is not read at all answers no PING.
  if (!session || session.destroyed) return
  const timer = setTimeout(() => session.destroy(), withinMs).unref()
  session.ping(() => clearTimeout(timer))
}
