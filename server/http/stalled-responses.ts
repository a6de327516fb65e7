import { constants } from 'node:http2'
import type { Call } from './call.ts'
import type { Http2 } from './http2.ts'

/**
 * Checks every `withinMs` for calls whose caller has read nothing of the response since the last check, and closes
 * them, because the unread part takes memory. Returns the function that stops the checks.
 */
export function cutStalledResponses(inFlight: ReadonlySet<Call>, http2: Http2, withinMs: number): () => void {
  let before = new Map<Call, number>()
  function look(): void {
    const now = new Map<Call, number>()
    for (const call of inFlight) {
      const unreadBytes = call.response.writableLength
      if (unreadBytes === 0) continue
      if (before.get(call) === unreadBytes) cut(call)
      else now.set(call, unreadBytes)
    }
    before = now
  }
  function cut({ raw }: Call): void {
    if (!('stream' in raw)) return void raw.socket.destroy()
    const { stream } = raw
    const { session } = stream
    stream.close(constants.NGHTTP2_CANCEL)
    stream.destroy()
    // Other streams of the connection may still be read.
    if (session) http2.closeUnlessRead(session, withinMs)
  }
  const timer = setInterval(look, withinMs).unref()
  return () => clearInterval(timer)
}
