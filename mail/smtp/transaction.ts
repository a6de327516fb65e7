import { unblocked } from './alarm.ts'
import type { Verdict } from './attempt.ts'
import { beyondExtensions } from './beyond-extensions.ts'
import { acceptedOf, type EnvelopeResult, type MailObject, sendEnvelope } from './envelope.ts'
import { type Failure, failureOf } from './failure.ts'
import type { Session } from './session.ts'
import { judgeRefusal, type SharedRefusal } from './verdicts.ts'
import type { BrokenWire } from './wire.ts'

export interface TransactionResult {
  /** One per recipient; absent for the recipients that `failure` is about. */
  verdicts: (Verdict | undefined)[]
  /** The recipients that get their own transaction, although they have a verdict. */
  alone?: number[]
  /** How many recipients the server has accepted, before it may have refused DATA or the content. */
  accepted: number
  failure?: Failure
  /** The session can take another message. Otherwise it is closed, unless the reply to the dot may still come. */
  reusable: boolean
  replyMayCome?: boolean
  /** How long the reply to the dot took, or was waited for, while this process could have read it. */
  dotReplyMs?: number
}

type ContentResult = Omit<TransactionResult, 'accepted'>

/** MAIL to dot (RFC 5321 3.3), for one message over one session. No other code sends a final dot. */
export async function transact(session: Session, mail: MailObject): Promise<TransactionResult> {
  const refused = beyondExtensions(session, mail)
  if (acceptedOf(refused).length === 0) return { verdicts: refused, accepted: 0, reusable: true }
  const { wire } = session
  session.messages++
  mail.signal?.addEventListener('abort', wire.abandon)
  if (mail.signal?.aborted) wire.abandon()
  const envelope = await sendEnvelope(session, mail, refused)
  mail.signal?.removeEventListener('abort', wire.abandon)
  const { accepted, isReady } = envelope
  const result: TransactionResult = isReady ? { ...(await sendContent(session, mail, envelope)), accepted } : envelope
  // No QUIT: a server in the middle of the content would take QUIT for a part of the content.
  if (!result.reusable && !result.replyMayCome) wire.destroy()
  return result
}

/** Sends the content, and meanwhile asks the caller for permission to send the dot. */
async function sendContent(session: Session, mail: MailObject, { verdicts }: EnvelopeResult): Promise<ContentResult> {
  mail.stopwatch.begin('dot')
  const { wire } = session
  const { dotMs } = mail.deadlines
  const fail = (trouble: BrokenWire): ContentResult => ({
    verdicts,
    failure: failureOf('data', trouble),
    reusable: false,
  })
  const troubleBefore = wire.trouble()
  if (troubleBefore) return fail(troubleBefore)
  let isPermitted: boolean | undefined
  let isContentSent = false
  const content = wire.sendContent(mail.content.pieces).then(() => {
    isContentSent = true
  })
  const permission = askPermission(mail, acceptedOf(verdicts)).then((isGiven) => {
    isPermitted = isGiven
  })
  const both = await wire.during(Promise.all([content, permission]), dotMs)
  // Two requests for permission of one recipient must never overlap, so a broken wire waits for its end too.
  if ('how' in both) await endOf(permission, dotMs)

  if (isPermitted === false || (isPermitted === undefined && isContentSent)) return withoutDot(verdicts, isPermitted)
  if ('how' in both) return fail(both)
  // This process may have stood still meanwhile: it must not send a message that is no longer its own.
  if (performance.now() >= dotMs) return withoutDot(verdicts, undefined)
  const troubleAfter = wire.trouble()
  if (troubleAfter) return fail(troubleAfter)
  return sendDot(session, mail, verdicts)
}

/** From here on no recipient of this transaction may be tried again, but after a refusal that is not about them. */
async function sendDot(
  session: Session,
  mail: MailObject,
  verdicts: TransactionResult['verdicts'],
): Promise<ContentResult> {
  const { wire } = session
  const sentAtMs = unblocked.now()
  wire.send('.\r\n', 1)
  const reply = await wire.nextReply(mail.deadlines.endMs)
  const dotReplyMs = unblocked.now() - sentAtMs
  const accepted = acceptedOf(verdicts)
  const judged: SharedRefusal =
    reply.kind === 'reply'
      ? judgeRefusal(session, mail, 'dot', reply, accepted)
      : { verdicts: new Map(accepted.map((i) => [i, inDoubt(reply)])), alone: [] }
  for (const [i, verdict] of judged.verdicts) {
    // A reply such as 354 neither accepts nor refuses.
    verdicts[i] = verdict.outcome.kind === 'in_doubt' ? { ...verdict, phase: 'after_dot' } : verdict
  }
  session.needsReset = false
  const isDecided = reply.kind === 'reply' && reply.code !== 421 && Math.floor(reply.code / 100) !== 3
  const reusable = isDecided && wire.isQuiet()
  const replyMayCome = reply.kind === 'broken' && reply.how === 'timeout'
  return { verdicts, alone: judged.alone, reusable, replyMayCome, dotReplyMs }
}

function inDoubt({ detail }: BrokenWire): Verdict {
  return { phase: 'after_dot', outcome: { kind: 'in_doubt' }, detail }
}

/** A fault of ours for every accepted recipient: the caller refused permission for the dot, or gave none in time. */
function withoutDot(verdicts: TransactionResult['verdicts'], isPermitted: false | undefined): ContentResult {
  const cause = isPermitted === false ? 'no leave for the dot' : 'no leave for the dot in time'
  const ours: Verdict = { phase: 'data', outcome: { kind: 'our_fault', cause }, detail: cause }
  return { verdicts: verdicts.map((verdict) => verdict ?? ours), reusable: false }
}

async function askPermission(mail: MailObject, accepted: number[]): Promise<boolean> {
  try {
    return (await mail.beforeDot(accepted)) === true
  } catch {
    return false
  }
}

/** Waits for `work` until the deadline at the latest. */
async function endOf(work: Promise<unknown>, untilMs: number): Promise<void> {
  const { promise: deadline, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, Math.max(0, untilMs - performance.now()))
  await Promise.race([work, deadline]).finally(() => clearTimeout(timer))
}
