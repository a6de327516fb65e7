import type { Verdict } from './attempt.ts'
import { refusesSession } from './envelope.ts'
import type { Failure } from './failure.ts'
import type { Lane, LaneTools } from './lane-state.ts'
import { hostsAfter, isServerTrouble, otherHosts, refusesRate, sameHostFirst } from './next-hosts.ts'
import { type Evidence, mayConnectAgain, type QueuedRecipient } from './recipient-queue.ts'
import { wordsOf } from './reply.ts'
import { type Session, takesMore } from './session.ts'
import type { Place } from './site-connections.ts'
import type { Stopwatch } from './stopwatch.ts'
import type { TransactionResult } from './transaction.ts'

interface Noted {
  place: Place
  session: Session
  recipients: QueuedRecipient[]
  result: TransactionResult
  evidence: Evidence
  stopwatch: Stopwatch
  /** When the transaction began, on the clock of `performance.now()`. */
  beganAtMs: number
  /** The session had been used before this transaction. */
  isUsed: boolean
}

/**
 * Settles the recipients that the transaction has decided, and puts the others back into the queue. Decides what the
 * lane goes on with: the session, another one with the same host, or another host.
 */
export function noteResult(tools: LaneTools, lane: Lane, noted: Noted): void {
  const { queue, own, slowSites, site, commandMs } = tools
  const { place, session, recipients, result, evidence, stopwatch, isUsed, beganAtMs } = noted
  const { verdicts, alone = [], accepted, failure, reusable, dotReplyMs } = result
  const isProgress = accepted > 0 || verdicts.some((verdict) => verdict && isVerdictOnRecipient(verdict))
  const isPostponed = (verdict: Verdict) => mayBePostponed(verdict, isUsed, isProgress)
  const refusedForNumber = verdicts.filter((verdict) => verdict?.phase === 'rcpt' && isPostponed(verdict)).length
  if (refusedForNumber > 0 && isProgress) tools.atATime = accepted || recipients.length - refusedForNumber
  if (refusedForNumber > 0 && !isProgress) session.isSpent = true

  const { hosts, mayRepeat } = lane
  const { host } = session
  const others = otherHosts(hosts, host)
  const movesOn = (verdict: Verdict) => others.length > 0 && isInTrouble(verdict)
  const isMovingOn = verdicts.some((verdict) => verdict && movesOn(verdict))
  if (isMovingOn) session.isSpent = true

  const isTooFast = (each?: Verdict | Failure) => each?.reply && refusesRate(each.phase, each.reply, host)
  const blamed = failure && own.blame(failure, commandMs)
  const tooFast = [...verdicts, blamed].find(isTooFast)?.reply
  if (tooFast) place.refusedRate({ beganAtMs, reply: wordsOf(tooFast) })

  const staysOpen = reusable && takesMore(session, tools.limits)
  const undecided: QueuedRecipient[] = []
  for (const [position, recipient] of recipients.entries()) {
    const verdict = verdicts[position]
    stopwatch.addTo(recipient.timings, position, verdict)
    if (!verdict) undecided.push(recipient)
    else if (alone.includes(position)) queue.askAlone(recipient, verdict, evidence)
    else if (movesOn(verdict)) queue.postpone(recipient, verdict, evidence)
    else if (isPostponed(verdict) && (staysOpen || mayConnectAgain(recipient)))
      queue.postpone(recipient, verdict, evidence)
    else {
      // It may be well in the next session: postscreen replies so until its client has come again.
      if (isInTrouble(verdict)) session.isSpent = true
      queue.settle(recipient, verdict, evidence)
    }
  }
  if (verdicts.some((verdict) => verdict?.outcome.kind === 'delivered')) place.succeeded()
  const rcptMs = stopwatch.longestRcptMs()
  if (rcptMs !== undefined) slowSites.noteRcpt(site.key, rcptMs)
  if (dotReplyMs !== undefined) slowSites.noteDot(site.key, accepted, dotReplyMs)
  if (result.replyMayCome) tools.waitForLateReply(session)

  lane.session = reusable ? session : undefined
  if (!failure || !blamed) {
    lane.hosts = isMovingOn ? others : sameHostFirst(hosts, host)
    return
  }
  // It has replied to MAIL, and not to what came with it.
  const isForgetful = blamed.how === 'timeout' && ['rcpt', 'data'].includes(blamed.phase)
  if (isForgetful && session.extensions.pipelining) tools.opening.forgetfulHosts.add(host)
  queue.fail(undecided, blamed, evidence)
  if (failure.how === 'slow') {
    tools.atATime = 1
    tools.spread(queue.waiting.size)
  }
  lane.mayRepeat &&= failure.how !== 'garbage'
  // A server that ended the session because of what was too much in it takes the rest over another one, and so does one
  // that closes whenever it refuses a recipient.
  const isEndedForNumber = refusedForNumber > 0 && undecided.some(mayConnectAgain)
  const isEndedByRefusal = failure.how === 'closed' && verdicts.some((verdict) => verdict && refusesRecipient(verdict))
  const isSameHostNext = isEndedForNumber || isEndedByRefusal
  lane.hosts = isSameHostNext ? sameHostFirst(hosts, host) : hostsAfter(failure, { hosts, host, isUsed, mayRepeat })
}

/** A 4xx reply to the dot is a refusal, too: the next exchanger gets its own leave. */
const isInTrouble = ({ reply, reading }: Verdict) =>
  reply !== undefined && reading !== undefined && isServerTrouble(reply, reading)

function mayBePostponed(verdict: Verdict, isUsed: boolean, isProgress: boolean): boolean {
  const { phase, reading } = verdict
  if (phase === 'mail') return isUsed && refusesSession(verdict)
  return reading?.subject === 'session' && phase !== 'dot' && (isUsed || (phase === 'rcpt' && isProgress))
}

function refusesRecipient({ phase, reply }: Verdict): boolean {
  return phase === 'rcpt' && reply !== undefined && reply.code >= 500
}

function isVerdictOnRecipient({ reading }: Verdict): boolean {
  return reading?.subject !== 'session'
}
