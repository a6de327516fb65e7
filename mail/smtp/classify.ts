import type { Outcome, Reply, ReplyReading } from './attempt.ts'
import { type KnownNames, NAMED, plainWords } from './plain-text.ts'
import { withoutQuotes } from './quotes.ts'
import type { ReplyPhase, ReplyRule } from './rules/rule.ts'
import { RULES } from './rules.ts'

/** A reply with its place in the conversation. */
export interface PlacedReply {
  /** The command that the reply answers, the greeting, or `late` for what a bounce quotes. */
  phase: ReplyPhase
  reply: Reply
  /** Name of the exchanger that sent it. */
  mx: string
  names?: KnownNames
}

/** What a reply means for the recipient, and how it was read. */
export interface Judgement {
  outcome: Outcome
  reading?: ReplyReading
}

/**
 * What a reply means for the recipient. The phase decides first, and the first digit decides permanence. The reason
 * comes from what the reply speaks of (see `RULES`). A reply that neither accepts nor refuses is in doubt after the
 * final dot, and temporary before it.
 */
export function classify(placed: PlacedReply): Judgement {
  const { phase, reply } = placed
  if (phase === 'after_dot') return { outcome: { kind: 'in_doubt' } }
  const digit = Math.floor(reply.code / 100)
  if (digit === 4 || digit === 5) {
    const rule = ruleFor(placed)
    return { outcome: bounceOf(rule, digit), reading: { subject: rule.subject, row: rule.name } }
  }
  if (phase !== 'dot') return { outcome: TEMPORARY }
  return { outcome: { kind: digit === 2 ? 'delivered' : 'in_doubt' } }
}

const TEMPORARY: Outcome = { kind: 'bounced', reason: 'temporary_failure', retryable: true }

function bounceOf({ reason, evenFor4xx }: ReplyRule, digit: number): Outcome {
  if (digit === 4 && !evenFor4xx) return TEMPORARY
  return { kind: 'bounced', reason, retryable: reason === 'temporary_failure' || reason === 'connection_timeout' }
}

/** The row that decides on a 4xx or 5xx reply. */
export function ruleFor({ phase, reply, mx, names }: PlacedReply): ReplyRule {
  const code = String(reply.code)
  const own = withoutQuotes(reply.text, names)
  const all = plainWords(reply.text, names)
  const said = own === reply.text ? all : plainWords(own, names)
  // A status may be that of a quotation, whose lines begin like those of a reply.
  const status = own === reply.text ? statusOf(reply) : undefined
  const isSilent = SILENT.test(said)
  const host = mx.toLowerCase()
  // What another server said may be about our own address, so it proves nothing about the recipient.
  const textOf = ({ subject }: ReplyRule) => (subject === 'space' || subject === 'mailbox' ? said : all)
  return RULES.find(
    (rule) =>
      (rule.phases?.includes(phase) ?? true) &&
      (rule.code?.test(code) ?? true) &&
      (rule.status === undefined || (status !== undefined && rule.status.test(status))) &&
      !(rule.bare && status !== undefined) &&
      !(rule.silent && !isSilent) &&
      (rule.mx?.some((name) => host === name || host.endsWith(`.${name}`)) ?? true) &&
      (rule.text?.test(textOf(rule)) ?? true) &&
      !rule.unless?.test(textOf(rule)),
  )!
}

/** Nothing but addresses, numbers and punctuation. */
const SILENT = new RegExp(`^(?:${Object.values(NAMED).join('|')}|\\P{L})*$`, 'u')

/** Some servers put the status into the text only, as in `Sorry, no mailbox here by that name. (#5.1.1)`. */
const STATUS_IN_TEXT = /#\s?([45]\.\d{1,3}\.\d{1,3})(?!\.?\w)/

function statusOf({ code, enhanced, text }: Reply): string | undefined {
  const status = enhanced ?? STATUS_IN_TEXT.exec(text)?.[1]
  return code < 500 && status?.startsWith('5') ? undefined : status
}
