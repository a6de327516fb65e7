import { DeliveryStatus, Reason, type RecipientOutcome } from '../../gen/verdict/v1/outcomes_pb.ts'
import { reasonNames, statusNames } from '../db/outcome-names.ts'
import { type FrontReply, replyToError } from './errors.ts'
import type { RecipientAnswer, RecipientResult } from './results.ts'

// The reply to the final dot: that of the recipient's own server, after our message id.

export interface DotReply {
  code: number
  /** Each begins with the enhanced code, and fits into a line of SMTP. */
  lines: string[]
}

interface Answer extends FrontReply {
  email: string
  /** Absent when there is no message, because the send was refused. */
  messageId?: string
  isRepeated: boolean
  hadOtherContent: boolean
}

/** With CRLF (RFC 5321 4.5.3.1.5). */
const MAX_LINE = 512

/**
 * The one reply for all recipients. It is temporary as long as one recipient may be tried again: clients take any other
 * reply as the end for all of them.
 *
 * @param results at least one
 */
export function dotReply(results: readonly RecipientResult[]): DotReply {
  const answers = results.map(answerOf)
  const [first] = answers as [Answer]
  const failed = answers.filter(({ code }) => code >= 400)
  const leader = failed.find(isTemporary) ?? (failed.length < answers.length ? DELIVERED : worst(failed))
  const ids = [...new Set(answers.flatMap(({ messageId }) => messageId ?? []))].join(', ')
  if (ids === '') return replyWith(leader, [leader.text])
  if (answers.length === 1) return replyWith(first, [`${ids}: ${textOf(first)}`])
  if (failed.length === 0) {
    const shown = answers.find((answer) => answer.hadOtherContent || answer.isRepeated) ?? first
    return replyWith(shown, [`${ids}: ${textOf(shown)}`])
  }
  const named = failed.map(({ messageId, email, code, enhanced, text }) => {
    return `${messageId === first.messageId || !messageId ? '' : `${messageId}: `}${email}: ${code} ${enhanced} ${text}`
  })
  const note = answers.some(({ hadOtherContent }) => hadOtherContent) ? OTHER_CONTENT : ''
  const head = `${ids}: ${note}${countsOf(answers)}`
  return replyWith(isTemporary(leader) ? { ...leader, code: 451 } : leader, [head, ...named.map(shortened)])
}

const DELIVERED: FrontReply = { code: 250, enhanced: '2.0.0', text: '' }

/** A reply of our own. */
export function ownReply(code: number, enhanced: string, text: string): DotReply {
  return replyWith({ code, enhanced }, [text])
}

/** The reply for an error of the whole message. */
export function errorReply(error: unknown): DotReply {
  const reply = replyToError(error)
  return replyWith(reply, [reply.text])
}

/** What the lines about the recipients that have no mail begin with. */
function countsOf(answers: readonly Answer[]): string {
  const delivered = answers.filter(({ code }) => code < 400)
  if (delivered.length === 0) return 'delivered to none:'
  const repeated = delivered.filter(({ isRepeated }) => isRepeated).length
  const already = repeated === 0 ? '' : `, ${repeated} of them already delivered before`
  return `delivered to ${delivered.length} of ${answers.length} recipients${already}, not to:`
}

const OTHER_CONTENT = 'the Idempotency-Key was given with other content before, and this is the answer to that: '

function textOf({ text, code, isRepeated, hadOtherContent }: Answer): string {
  if (hadOtherContent) return `${OTHER_CONTENT}${text}`
  return isRepeated && code < 400 ? `already delivered: ${text}` : text
}

function answerOf(result: RecipientResult): Answer {
  const { email } = result
  if ('error' in result) return { ...replyToError(result.error), email, isRepeated: false, hadOtherContent: false }
  const { messageId, isRepeated = false, hadOtherContent = false } = result
  return { ...replyOf(result), email, messageId, isRepeated, hadOtherContent }
}

const isTemporary = ({ code }: Pick<FrontReply, 'code'>) => code >= 400 && code < 500

const worst = (replies: readonly Answer[]) => replies.reduce((found, one) => (one.code > found.code ? one : found))

/** Words about one of several recipients. Its event has them all. */
const shortened = (text: string) => (text.length > 300 ? `${text.slice(0, 297)}...` : text)

function replyOf({ outcome, sandbox }: RecipientAnswer): FrontReply {
  if (sandbox) return { code: 250, enhanced: '2.0.0', text: `dry run, nothing was sent${simulated(outcome)}` }
  const digit = outcome.status === DeliveryStatus.DELIVERED ? 2 : outcome.retryable ? 4 : 5
  if (outcome.inDoubt) return { code: 550, enhanced: '5.4.7', text: IN_DOUBT }
  const { smtp } = outcome
  const code = smtp?.code ?? 0
  const isAnswer = digit === 2 ? code >= 200 && code < 300 : code >= 400
  return smtp && isAnswer ? theirReply(smtp, digit) : withoutReply(outcome, digit)
}

const IN_DOUBT =
  'the reply to the final dot was lost. The message may have arrived, and is never sent again by the service'

/** The class follows what the client is to do. Where the server's differs, its own codes are quoted. */
function theirReply(smtp: NonNullable<RecipientOutcome['smtp']>, digit: number): FrontReply {
  const { code = 0, enhanced = `${Math.floor(code / 100)}.0.0`, reply = '' } = smtp
  const text = reply.startsWith(`${enhanced} `) ? reply.slice(enhanced.length + 1) : reply
  const ours = code === 421 && digit === 4 ? 451 : digit * 100 + (code % 100)
  const oursEnhanced = `${digit}${enhanced.slice(1)}`
  if (ours === code && oursEnhanced === enhanced) return { code, enhanced, text }
  return { code: ours, enhanced: oursEnhanced, text: `${code} ${enhanced} ${text}` }
}

function withoutReply(outcome: RecipientOutcome, digit: number): FrontReply {
  const { reason, detail, smtp } = outcome
  const words = detail ?? smtp?.detail ?? (reason === undefined ? '' : reasonNames.name(reason))
  if (digit === 2) return { code: 250, enhanced: '2.0.0', text: words || 'delivered' }
  if (digit === 4) return { code: 451, enhanced: '4.4.1', text: words }
  return { code: 550, enhanced: reason === Reason.NO_MX_RECORD ? '5.1.2' : '5.7.1', text: words }
}

/** The outcome that an address of the simulator, or a check, would have given. */
function simulated({ status, reason }: RecipientOutcome): string {
  if (status === DeliveryStatus.DELIVERED) return ''
  return ` (${[statusNames.name(status), reason && reasonNames.name(reason)].filter(Boolean).join('/')})`
}

function replyWith({ code, enhanced }: Pick<FrontReply, 'code' | 'enhanced'>, texts: string[]): DotReply {
  const room = MAX_LINE - 2 - '250-'.length - enhanced.length - 1
  return { code, lines: texts.flatMap((text) => pieces(inAscii(text), room)).map((piece) => `${enhanced} ${piece}`) }
}

const inAscii = (text: string) => text.replace(/[^ -~]/g, (character) => (character.trim() === '' ? ' ' : '?'))

/** Cut at spaces where there are any. */
function pieces(text: string, room: number): string[] {
  if (text.length <= room) return [text]
  const space = text.lastIndexOf(' ', room)
  const at = space > room / 2 ? space : room
  return [text.slice(0, at), ...pieces(text.slice(at).trimStart(), room)]
}
