import type { Failure } from './failure.ts'
import { hasGivenUp } from './own-time.ts'
import type { ShowingServer, Shown } from './shown.ts'
import type { TransactionResult } from './transaction.ts'

/** What servers let pass in a transaction, in its order. `data` is DATA and the content, as far as the dot. */
const PASSED = ['mail', 'rcpt', 'data'] as const

interface Ended {
  result: TransactionResult
  /** When the transaction began, on the clock of `performance.now()`. */
  beganAtMs: number
  /** The session had been used before this transaction. */
  isUsed: boolean
}

/**
 * Notes what the server has let pass. Returns the failure of the transaction, or one of our way where no server of
 * late has let this pass: a firewall of ours may end what it reads. A witness gets no message, so sites are counted.
 */
export async function unlessAllEnd(
  shown: Shown,
  server: ShowingServer,
  { result, beganAtMs, isUsed }: Ended,
): Promise<Failure | undefined> {
  const { failure, verdicts } = result
  for (const phase of PASSED.slice(0, passedIn(result))) shown[phase].shownBy(server, beganAtMs)
  const lacked = PASSED.find((phase) => phase === failure?.phase)
  // A server may close an idle connection, or after it has refused.
  const isOfServer = (isUsed && lacked === 'mail') || verdicts.some((verdict) => verdict !== undefined)
  if (!failure || !lacked || isOfServer || !isEnded(failure)) return failure
  if (!(await shown[lacked].isCutOff(server, beganAtMs))) return failure
  return { ...failure, how: 'unreachable', detail: `${failure.detail ?? failure.how}, as at all servers of late` }
}

const isEnded = (failure: Failure) => (failure.how === 'closed' || failure.how === 'timeout') && !hasGivenUp(failure)

function passedIn({ verdicts, accepted, failure }: TransactionResult): number {
  if (failure) return Math.max(0, (PASSED as readonly string[]).indexOf(failure.phase))
  const replied = verdicts.flatMap((verdict) => (verdict?.reply ? [verdict.phase] : []))
  if (replied.includes('data') || replied.includes('dot')) return PASSED.length
  if (accepted > 0 || replied.includes('rcpt')) return 2
  return replied.includes('mail') ? 1 : 0
}
