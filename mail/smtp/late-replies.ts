import type { Delivery, SmtpAttempt } from './attempt.ts'
import type { Session } from './session.ts'
import { verdictOf } from './verdicts.ts'

interface LateReplyOptions {
  waitMs: number
  /** The most sessions that wait at a time; one more closes the oldest. */
  max: number
  onLateReply?: (attempt: SmtpAttempt, reference?: string) => void
}

/** Reads the replies to the dot that come too late for the caller, for the record. Each has its session until then. */
export function createLateReplies({ waitMs, max, onLateReply }: LateReplyOptions) {
  const sessions = new Set<Session>()
  let isClosed = false

  type LateDelivery = Pick<Delivery, 'startedAtMs' | 'reference'>

  async function waitFor(session: Session, { startedAtMs, reference }: LateDelivery): Promise<void> {
    if (isClosed) return session.wire.abandon()
    sessions.add(session)
    const [oldest] = sessions
    if (oldest && sessions.size > max) end(oldest)
    const reply = await session.wire.nextReply(performance.now() + waitMs)
    session.wire.quit()
    sessions.delete(session)
    if (reply.kind !== 'reply') return
    const { host, ip, tls } = session
    const durationMs = performance.now() - startedAtMs
    onLateReply?.({ ...verdictOf(session, 'dot', reply), mx: host.name, ip, tls, durationMs, timings: {} }, reference)
  }

  function end(session: Session): void {
    sessions.delete(session)
    session.wire.abandon()
  }

  return {
    waitFor,
    /** How many sessions wait. */
    waiting: () => sessions.size,
    /** Ends all waiting; a send that is still under way does not wait either. */
    close: () => {
      isClosed = true
      for (const session of sessions) end(session)
    },
  }
}
