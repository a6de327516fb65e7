import { constants } from 'node:http2'
import type { Call } from './call.ts'
import type { Http2 } from './http2.ts'

/**
 * Looks every `withinMs` for calls whose caller has taken nothing of the answer since the last look, and closes them: what they
 * hold of the answer is memory. Returns the function that stops it.
 */
export function cutStalledAnswers(inFlight: ReadonlySet<Call>, http2: Http2, withinMs: number): () => void {
  let before = new Map<Call, number>()
  function look(): void {
    const now = new Map<Call, number>()
    for (const call of inFlight) {
      const waiting = call.response.writableLength
      if (waiting === 0) continue
      if (before.get(call) === waiting) cut(call)
      else now.set(call, waiting)
    }
    before = now
  }
  function cut({ raw }: Call): void {
    if (!('stream' in raw)) return void raw.socket.destroy()
    const { stream } = raw
    const { session } = stream
    stream.close(constants.NGHTTP2_CANCEL)
    stream.destroy()
    // Other streams may share the connection and be read.
    if (session) http2.closeUnlessRead(session, withinMs)
  }
  const timer = setInterval(look, withinMs).unref()
  return () => clearInterval(timer)
}
