import type { Attempt } from './attempt.ts'
import { verdictOf } from './envelope.ts'
import type { Session } from './session.ts'

interface LateReplyOptions {
  waitMs: number
  /** So many sessions at most; beyond, the oldest is closed. */
  max: number
  onLateReply?: (attempt: Attempt) => void
}

/** Sessions whose reply to the dot came too late for its caller: it is still read, for the record. */
export function createLateReplies({ waitMs, max, onLateReply }: LateReplyOptions) {
  const sessions = new Set<Session>()

  async function waitFor(session: Session, startedAtMs: number): Promise<void> {
    sessions.add(session)
    const [oldest] = sessions
    if (sessions.size > max) end(oldest!)
    const heard = await session.wire.hear(performance.now() + waitMs)
    if (heard.kind === 'reply') {
      const { host, ip, tls } = session
      const durationMs = performance.now() - startedAtMs
      onLateReply?.({ ...verdictOf(session, 'dot', heard), mx: host.name, ip, tls, durationMs })
    }
    session.wire.quit()
    sessions.delete(session)
  }

  function end(session: Session): void {
    sessions.delete(session)
    session.wire.leave()
  }

  return {
    waitFor,
    close: () => {
      for (const session of sessions) end(session)
    },
  }
}
