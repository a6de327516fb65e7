import type { Verdict } from './attempt.ts'
import { acceptedOf, type Envelope, type Mail, sendEnvelope, verdictOf } from './envelope.ts'
import { type Failure, failureOf } from './failure.ts'
import type { Session } from './session.ts'
import type { Broken } from './wire.ts'

export interface Result {
  /** One per recipient; those without one are the ones `failure` is about. */
  verdicts: (Verdict | undefined)[]
  failure?: Failure
  /** The session can take another message. If not it is closed, unless the reply to the dot may still come. */
  reusable: boolean
  replyMayCome?: boolean
}

/** MAIL to dot, for one message over one session: the only place that ever sends a final dot. */
export async function transact(session: Session, mail: Mail): Promise<Result> {
  const tooLarge = tooLargeFor(session, mail)
  if (tooLarge) return { verdicts: mail.recipients.map(() => tooLarge), reusable: true }
  const { wire } = session
  session.messages++
  mail.signal?.addEventListener('abort', wire.leave)
  if (mail.signal?.aborted) wire.leave()
  const envelope = await sendEnvelope(session, mail)
  mail.signal?.removeEventListener('abort', wire.leave)
  const result: Result = envelope.ready ? await sendContent(session, mail, envelope) : envelope
  // No QUIT: a server that is in the middle of the content would take it for a part of it.
  if (!result.reusable && !result.replyMayCome) wire.destroy()
  return result
}

/** The limit the server announced is its word; it is kept without sending the message first. */
function tooLargeFor({ extensions: { maxSize }, host }: Session, { content }: Mail): Verdict | undefined {
  if (maxSize === undefined || content.size <= maxSize) return undefined
  const detail = `${host.name} takes ${maxSize} bytes, the message has ${content.size}`
  const reply = { code: 250, text: `SIZE ${maxSize}` }
  return { phase: 'ehlo', outcome: { kind: 'bounced', reason: 'policy_block', retryable: false }, reply, detail }
}

/** The content, and the caller's leave to send the dot while it is on its way. */
async function sendContent(session: Session, mail: Mail, { verdicts }: Envelope): Promise<Result> {
  const { wire } = session
  const { dotMs } = mail.deadlines
  const fail = (trouble: Broken): Result => ({ verdicts, failure: failureOf('data', trouble), reusable: false })
  const before = wire.trouble()
  if (before) return fail(before)
  let leave: boolean | undefined
  let isPoured = false
  const poured = wire.pour(mail.content.pieces).then(() => {
    isPoured = true
  })
  const asked = askLeave(mail, acceptedOf(verdicts)).then((answer) => {
    leave = answer
  })
  const all = await wire.during(Promise.all([poured, asked]), dotMs)
  // Two questions of one delivery must never overlap, so a broken wire waits for the answer too.
  if ('how' in all) await settled(asked, dotMs)

  if (leave === false || (leave === undefined && isPoured)) return forbid(verdicts, leave)
  if ('how' in all) return fail(all)
  // Time stands still for no one: a process that was stopped meanwhile must not send what is no longer its own.
  if (performance.now() >= dotMs) return fail({ kind: 'broken', how: 'timeout', detail: 'out of time before the dot' })
  const behind = wire.trouble()
  if (behind) return fail(behind)
  return sendDot(session, mail, verdicts)
}

/** From here on nothing may be tried again. */
async function sendDot(session: Session, mail: Mail, verdicts: Result['verdicts']): Promise<Result> {
  const { wire } = session
  wire.say('.\r\n', 1)
  const heard = await wire.hear(mail.deadlines.endMs)
  const verdict: Verdict =
    heard.kind === 'reply'
      ? verdictOf(session, 'dot', heard)
      : { phase: 'after_dot', outcome: { kind: 'in_doubt' }, detail: heard.detail }
  // Neither yes nor no, such as 354.
  if (verdict.outcome.kind === 'in_doubt') verdict.phase = 'after_dot'
  for (const i of acceptedOf(verdicts)) verdicts[i] = verdict
  session.needsReset = false
  const reusable = verdict.outcome.kind !== 'in_doubt' && verdict.reply?.code !== 421 && wire.isQuiet()
  return { verdicts, reusable, replyMayCome: heard.kind === 'broken' && heard.how === 'timeout' }
}

function forbid(verdicts: Result['verdicts'], leave: false | undefined): Result {
  const detail = leave === false ? 'no leave for the dot' : 'no leave for the dot in time'
  const outcome = { kind: 'bounced', reason: 'temporary_failure', retryable: true } as const
  return { verdicts: verdicts.map((verdict) => verdict ?? { phase: 'data', outcome, detail }), reusable: false }
}

async function askLeave(mail: Mail, accepted: number[]): Promise<boolean> {
  try {
    return (await mail.beforeDot(accepted)) === true
  } catch {
    return false
  }
}

async function settled(work: Promise<unknown>, untilMs: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, Math.max(0, untilMs - performance.now()))
  work.then(() => resolve())
  await promise
  clearTimeout(timer)
}
