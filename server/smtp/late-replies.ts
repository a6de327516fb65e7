import type { Attempt, Delivery } from './attempt.ts'
import { verdictOf } from './envelope.ts'
import type { Session } from './session.ts'

interface LateReplyOptions {
  waitMs: number
  /** So many sessions at most; beyond, the oldest is closed. */
  max: number
  onLateReply?: (attempt: Attempt, reference?: string) => void
}

/** Sessions whose reply to the dot came too late for its caller: it is still read, for the record. */
export function createLateReplies({ waitMs, max, onLateReply }: LateReplyOptions) {
  const sessions = new Set<Session>()
  let isClosed = false

  type Late = Pick<Delivery, 'startedAtMs' | 'reference'>

  async function waitFor(session: Session, { startedAtMs, reference }: Late): Promise<void> {
    if (isClosed) return session.wire.leave()
    sessions.add(session)
    const [oldest] = sessions
    if (sessions.size > max) end(oldest!)
    const heard = await session.wire.hear(performance.now() + waitMs)
    session.wire.quit()
    sessions.delete(session)
    if (heard.kind !== 'reply') return
    const { host, ip, tls } = session
    const durationMs = performance.now() - startedAtMs
    onLateReply?.({ ...verdictOf(session, 'dot', heard), mx: host.name, ip, tls, durationMs }, reference)
  }

  function end(session: Session): void {
    sessions.delete(session)
    session.wire.leave()
  }

  return {
    waitFor,
    /** Ends all waiting, that of sends still under way too once they come to it. */
    close: () => {
      isClosed = true
      for (const session of sessions) end(session)
    },
  }
}
