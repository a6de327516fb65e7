import { constants } from 'node:http2'
import type { Call } from '../call.ts'
import type { Http2 } from './http2.ts'

/**
 * Checks every `periodMs` for calls whose caller has read nothing of the response since the last check, and aborts
 * them, because the unread part takes memory. Returns the function that stops the checks. The listener calls it.
 */
export function abortStalledResponses(inFlight: ReadonlySet<Call>, http2: Http2, periodMs: number): () => void {
  let before = new Map<Call, number>()
  function check(): void {
    const now = new Map<Call, number>()
    for (const call of inFlight) {
      const unreadBytes = call.response.writableLength
      if (unreadBytes === 0) continue
      if (before.get(call) === unreadBytes) abort(call)
      else now.set(call, unreadBytes)
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
    if (session) http2.closeUnlessRead(session, periodMs)
  }
  const timer = setInterval(check, periodMs).unref()
  return () => clearInterval(timer)
}
