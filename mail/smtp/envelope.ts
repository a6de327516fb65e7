import { needsSmtpUtf8 } from '../address.ts'
import type { Verdict } from './attempt.ts'
import type { WireContent } from './content.ts'
import type { Deadlines } from './engine-limits.ts'
import { type Failure, failureOf } from './failure.ts'
import { isCompletion, type RawReply } from './reply.ts'
import type { Session } from './session.ts'
import type { Stopwatch } from './stopwatch.ts'
import { judgeRefusal, namesIn, verdictOf } from './verdicts.ts'
import type { BrokenWire } from './wire.ts'

const DATA = 'DATA\r\n'

export interface MailObject {
  sender: string
  /** As in `Delivery`. */
  from?: readonly string[]
  recipients: string[]
  content: WireContent
  /** As in `Delivery`, with indexes into `recipients` here. */
  beforeDot(accepted: number[]): Promise<boolean>
  deadlines: Deadlines
  /** How long the first reply may take. */
  firstReplyMs: number
  /** How long each further reply may take, never past `deadlines.dotMs`. */
  replyMs: number
  /** As in `EngineLimits`. */
  slowRcptMs: number
  signal?: AbortSignal
  stopwatch: Stopwatch
}

export interface EnvelopeResult {
  /** One for each refused recipient, with the reply to its own command where there was one. */
  verdicts: (Verdict | undefined)[]
  /** How many recipients the server has accepted, before it may have refused DATA. */
  accepted: number
  /** The recipients that get their own transaction: see verdicts.ts. */
  alone?: number[]
  /** The server waits for the content. It goes to the recipients without a verdict. */
  isReady: boolean
  /** Why the recipients without a verdict have none. */
  failure?: Failure
  /** The content is not sent, and the session can be used for another message. */
  reusable: boolean
}

/**
 * Sends MAIL, RCPT and DATA for the recipients in `mail` that are not `refused` already. `transact` sends the content.
 */
export async function sendEnvelope(
  session: Session,
  mail: MailObject,
  refused: EnvelopeResult['verdicts'],
): Promise<EnvelopeResult> {
  const { stopwatch } = mail
  const { pipelining, maxSize, dsn, smtpUtf8 } = session.extensions
  const body = mail.content.isEightBit ? ' BODY=8BITMIME' : ''
  const size = maxSize === undefined ? '' : ` SIZE=${mail.content.size}`
  // RET=HDRS (RFC 3461 4.3): a bounce with the whole message could be too large for the server that receives bounces.
  const ret = dsn ? ' RET=HDRS' : ''
  const reset = session.needsReset ? ['RSET\r\n'] : []
  const utf8 = smtpUtf8 && needsExtension(mail) ? ' SMTPUTF8' : ''
  const from = `MAIL FROM:<${mail.sender}>${size}${body}${ret}${utf8}\r\n`
  const verdicts = [...refused]
  const to = acceptedOf(verdicts).map((i) => [i, `RCPT TO:<${mail.recipients[i]}>\r\n`] as const)
  const toCommands = to.map(([, command]) => command)
  const { ask, isReusable } = startDialogue(session, mail, [...reset, from, ...toCommands, DATA])
  let accepted = 0
  const end = (): EnvelopeResult => ({ verdicts, accepted, isReady: false, reusable: isReusable() })
  const stop = (failure: Failure): EnvelopeResult => ({ verdicts, accepted, isReady: false, reusable: false, failure })

  stopwatch.begin('mail')
  for (const command of reset) {
    const reply = await ask(command)
    if (!isCompletion(reply)) return stop(failureOf('mail', reply))
  }
  session.needsReset = false

  const sender = await ask(from)
  // On an idle connection 421 means that the server was closing it already; it judges no message.
  if (isRefusal(sender) && sender.code === 421) return stop(failureOf('mail', sender))
  if (isRefusal(sender)) {
    stopwatch.end()
    const verdict = verdictOf(session, 'mail', sender, namesIn(session, mail))
    session.isSpent ||= refusesSession(verdict)
    for (const [i] of to) verdicts[i] = verdict
    const isOver = !pipelining || (await isRefused([...toCommands, DATA], ask))
    return { ...end(), reusable: isOver && isReusable() }
  }
  if (!isCompletion(sender)) return stop(failureOf('mail', sender))
  session.needsReset = true

  const dueMs = dueTimes(mail, to.length)
  for (const [position, [i, command]] of to.entries()) {
    stopwatch.begin('rcpt', i)
    const reply = await ask(command, dueMs(position))
    if (isTimeout(reply) && isBetween(dueMs(position), mail.deadlines.dotMs)) return stop(tooSlow(position, to.length))
    if (isRefusal(reply)) verdicts[i] = verdictOf(session, 'rcpt', reply, namesIn(session, mail, i))
    else if (!isCompletion(reply)) return stop(failureOf('rcpt', reply))
    else accepted++
  }
  if (accepted === 0 && !pipelining) return end()

  stopwatch.begin('data')
  const data = await ask(DATA)
  if (isRefusal(data)) {
    const refusal = judgeRefusal(session, mail, 'data', data, acceptedOf(verdicts))
    for (const [i, verdict] of refusal.verdicts) {
      verdicts[i] = verdict
      session.isSpent ||= refusesSession(verdict) && !refusal.alone.includes(i)
    }
    return { ...end(), alone: refusal.alone }
  }
  // A server that asks for the content after it refused every recipient gets no content.
  if (!isIntermediate(data) || accepted === 0) return stop(failureOf('data', data))
  return { verdicts, accepted, isReady: true, reusable: false }
}

/** Whether MAIL asks for SMTPUTF8 (RFC 6531 3.4), if the server offers it. Otherwise see beyond-extensions.ts. */
function needsExtension({ content, recipients }: MailObject): boolean {
  return content.hasUtf8Header || recipients.some(needsSmtpUtf8)
}

/**
 * A server that replies so to MAIL or DATA has had enough of the session, or has forgotten what was said in it:
 * 500 to 503, 530 and x.5.x are about commands and their order.
 */
export function refusesSession({ reply, reading }: Verdict): boolean {
  if (!reply) return false
  const { code, enhanced = '' } = reply
  return (
    code < 500 || reading?.subject === 'session' || [500, 501, 502, 503, 530].includes(code) || /^5\.5\./.test(enhanced)
  )
}

/**
 * When the reply to each RCPT is due, so that the replies to all of them are on time. A sole recipient has all the time
 * that there is.
 */
function dueTimes({ deadlines: { dotMs }, slowRcptMs }: MailObject, length: number): (position: number) => number {
  const startMs = performance.now()
  return (position) =>
    length === 1 ? Infinity : startMs + Math.max(slowRcptMs, ((dotMs - startMs) * position) / length)
}

function isBetween(fromMs: number, untilMs: number): boolean {
  const nowMs = performance.now()
  return nowMs >= fromMs && nowMs < untilMs
}

function tooSlow(replied: number, length: number): Failure {
  const detail = `too slow for ${length} recipients: ${replied} of them answered`
  return { kind: 'failure', phase: 'rcpt', how: 'slow', detail }
}

/** Sends a command and reads the reply to it. `untilMs` shortens the time for it. */
type Ask = (command: string, untilMs?: number) => Promise<RawReply | BrokenWire>

/**
 * Sends the commands in one write where the server supports pipelining (RFC 2920). Elsewhere `ask` sends each command
 * and then reads its reply.
 */
function startDialogue({ wire, extensions }: Session, { deadlines, ...mail }: MailObject, commands: string[]) {
  let isClosing = false
  let replyMs = mail.firstReplyMs
  if (extensions.pipelining) wire.send(commands.join(''), commands.length)
  const ask: Ask = async (command, untilMs = Infinity) => {
    if (!extensions.pipelining) wire.send(command, 1)
    const reply = await wire.nextReply(Math.min(deadlines.dotMs, performance.now() + replyMs, untilMs))
    replyMs = mail.replyMs
    isClosing ||= reply.kind === 'reply' && reply.code === 421
    return reply
  }
  return { ask, isReusable: () => !isClosing && wire.isQuiet() }
}

/** How long the replies that change nothing are waited for. */
const AFTER_REFUSAL_MS = 1_000

/**
 * Reads the replies to commands that were pipelined after a refused MAIL. Returns false when the server accepts the
 * last one or does not reply.
 */
async function isRefused(commands: string[], ask: Ask): Promise<boolean> {
  let isLastRefused = false
  for (const command of commands) {
    const reply = await ask(command, performance.now() + AFTER_REFUSAL_MS)
    if (reply.kind === 'broken') return false
    isLastRefused = isRefusal(reply)
  }
  return isLastRefused
}

/** The indexes of the recipients that the server has not refused. */
export function acceptedOf(verdicts: EnvelopeResult['verdicts']): number[] {
  return [...verdicts.keys()].filter((i) => verdicts[i] === undefined)
}

// The other classes of replies (RFC 5321 4.2.1).

function isIntermediate(reply: RawReply | BrokenWire): reply is RawReply {
  return reply.kind === 'reply' && reply.code >= 300 && reply.code < 400
}

function isTimeout(reply: RawReply | BrokenWire): boolean {
  return reply.kind === 'broken' && reply.how === 'timeout'
}

function isRefusal(reply: RawReply | BrokenWire): reply is RawReply {
  return reply.kind === 'reply' && reply.code >= 400
}
