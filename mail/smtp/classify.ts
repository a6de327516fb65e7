import { type DecidedBy, isAtLeast, type Outcome, type Reply, type ReplyReading } from './attempt.ts'
import { type Clause, clausesOf, tokensOf } from './clauses.ts'
import { IS_NAME, type KnownNames, NAMED, wordsOfLinks } from './plain-text.ts'
import { GIVES_REASON, leftWords, saysMore } from './rules/known-words.ts'
import { numbers } from './rules/pattern.ts'
import type { ReplyPhase, ReplyRule } from './rules/rule.ts'
import { rulesAt } from './rules.ts'

/** A reply with its place in the conversation. */
export interface PlacedReply {
  /** The command that the reply is to, the greeting, or `late` for what a bounce quotes. */
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
 * comes from what the reply speaks of (see `rulesAt`). A reply that neither accepts nor refuses is in doubt after the
 * final dot, and temporary before it.
 */
export function classify(placed: PlacedReply): Judgement {
  const { phase, reply } = placed
  if (phase === 'after_dot') return { outcome: { kind: 'in_doubt' } }
  const digit = Math.floor(reply.code / 100)
  if (digit === 4 || digit === 5) return classifyRefusal(placed)
  if (phase !== 'dot') return { outcome: TEMPORARY }
  return { outcome: { kind: digit === 2 ? 'delivered' : 'in_doubt' } }
}

/** What a reply of 4xx or 5xx means for the recipient. */
export function classifyRefusal(placed: PlacedReply): { outcome: Bounce; reading: ReplyReading } {
  const held = heldBy(placed)
  return { outcome: bounceOf(held.rule, placed.reply), reading: readingOf(held, placed) }
}

type Bounce = Extract<Outcome, { kind: 'bounced' }>

const TEMPORARY: Bounce = { kind: 'bounced', reason: 'temporary_failure', retryable: true }

function bounceOf({ reason, evenFor4xx }: ReplyRule, { code }: Reply): Bounce {
  if (code < 500 && !evenFor4xx) return TEMPORARY
  return { kind: 'bounced', reason, retryable: reason === 'temporary_failure' || reason === 'connection_timeout' }
}

/** The row that holds, and the words for which it does. */
interface Held {
  rule: ReplyRule
  words?: string
  clause?: Clause
}

function readingOf({ rule, words }: Held, { reply }: PlacedReply): ReplyReading {
  const { subject, name, kind, status } = rule
  const decidedBy: DecidedBy =
    words !== undefined ? 'words' : status || (rule.silent && reply.enhanced) ? 'status' : 'code'
  const evidence = { decidedBy, ...(words !== undefined && { words }) }
  // A refusal by policy proves nothing about a mailbox, and neither does one that may end.
  if (kind && statusOf(reply)?.startsWith('5.7.')) return { subject, row: `${name}, by policy`, ...evidence }
  const counts = reply.code >= 500 || rule.evenFor4xx
  return { subject, row: name, ...(counts && { kind }), ...evidence }
}

/** The sentence of a 4xx or 5xx reply whose words decide; undefined where the codes do. */
export function decidingSentence(placed: PlacedReply): string | undefined {
  const { clause } = heldBy(placed)
  return clause?.original(0, clause.text.length)
}

/** The row that decides on a 4xx or 5xx reply. */
export const ruleFor = (placed: PlacedReply): ReplyRule => heldBy(placed).rule

/**
 * The first row that holds for one of the clauses. So what a reply means is what one of its clauses means, and a clause
 * more never makes it count more against the recipient than the clause alone. A clause that only says where help is
 * decides where no other clause does.
 */
function heldBy({ phase, reply, mx, names }: PlacedReply): Held {
  const rules = rulesAt(phase)
  const code = String(reply.code)
  const clauses = clausesOf(reply.text, names)
  const help = clauses.filter(({ isHelp }) => isHelp)
  const own = help.length === 0 ? clauses : clauses.filter(({ isHelp }) => !isHelp)
  const status = statusOf(reply)
  const host = mx.toLowerCase()
  const asides = () => [...wordsOfLinks(reply.text, names), ...clauses.map(({ inIds }) => inIds)]
  const holdsByNumbers = (rule: ReplyRule) =>
    (rule.phases?.includes(phase) ?? true) &&
    (rule.code?.test(code) ?? true) &&
    (rule.status === undefined || (status !== undefined && rule.status.test(status))) &&
    !(rule.bare && status !== undefined) &&
    !(rule.silent && !clauses.every(isSilent)) &&
    (rule.mx?.some((name) => host === name || host.endsWith(`.${name}`)) ?? true)
  const held = (rule: ReplyRule, among: readonly Clause[]): Held | undefined => {
    if (!holdsByNumbers(rule)) return undefined
    const { text } = rule
    const isUnknown = rule.kind === 'unknown'
    if (isUnknown && (isOfOther(reply) || asides().some(namesReasonTo(rules)))) return undefined
    if (!text) return { rule }
    for (const clause of among) {
      const words = wordsFor(rule, text, clause)
      // Asked last, because it looks up each word.
      if (words !== undefined)
        return isUnknown && clauses.some(mayBeReasonTo(rules)) ? undefined : { rule, words, clause }
    }
    return undefined
  }
  const isQuoted = clauses.some(({ isForeign }) => isForeign)
  const first = firstHeld(rules, (rule) => held(rule, own), isQuoted)
  if (first.words !== undefined || first.rule.kind === 'full' || help.length === 0) return first
  return firstOf(rules, (rule) => (rule.text && !rule.kind ? held(rule, help) : undefined)) ?? first
}

/**
 * The first row that holds. While another server is quoted, the status may be that of the quotation, whose lines begin
 * like those of a reply. Then a row that holds by the status alone counts nothing against the recipient, unless the row
 * after it would count more.
 */
function firstHeld(rules: readonly ReplyRule[], held: (rule: ReplyRule) => Held | undefined, isQuoted: boolean): Held {
  const first = firstOf(rules, held)!
  if (!isQuoted || !isByStatusAlone(first.rule)) return first
  const other = firstOf(rules, (rule) => (isByStatusAlone(rule) ? undefined : held(rule)))!
  return isAtLeast(first.rule.kind, other.rule.kind) ? other : first
}

const isByStatusAlone = ({ status, text, kind }: ReplyRule) => status !== undefined && !text && kind !== undefined

function firstOf<T, R>(items: readonly T[], find: (item: T) => R | undefined): R | undefined {
  for (const item of items) {
    const found = find(item)
    if (found !== undefined) return found
  }
  return undefined
}

/** Codes and statuses about a mailbox. Others speak of the sender, the system, the protocol, or of a while. */
const MAILBOX_CODE = numbers('511|55[0-4]')
const MAILBOX_STATUS = numbers('5.0.0|5.1.(?:0|1|2|3|4|6|10|11)|5.2.0')
const ANY_STATUS = /(?<![\w.])[45]\.[0-7]\.\d{1,3}(?![\w.])/g

/** Whether a number of the reply speaks of something else than an unknown user. */
function isOfOther({ code, enhanced, text }: Reply): boolean {
  const statuses = [enhanced ?? [], text.match(ANY_STATUS) ?? []].flat()
  const isAboutMailbox = MAILBOX_CODE.test(String(code)) && statuses.every((status) => MAILBOX_STATUS.test(status))
  return code >= 500 && !isAboutMailbox
}

/** Help, links and ids may name the reason: that the fault passes, or what a row reads that is about no mailbox. */
const namesReasonTo = (rules: readonly ReplyRule[]) => (help: string) =>
  GIVES_REASON.test(help) || rules.some(({ text, kind }) => text && !kind && text.test(help))

/** Whether the sentence may say why a user is not found who exists: no help, and with a word that is not known. */
const mayBeReasonTo = (rules: readonly ReplyRule[]) => (clause: Clause) =>
  clause.isHelp ? namesReasonTo(rules)(clause.text) || saysMore(clause.text) : leftWords(clause).length > 0

/** A name before the words says whom they are about, and is evidence of nothing. */
const NAME_BEFORE = new RegExp(`^(?:${Object.values(NAMED).join('|')})[\\s:,]+`)

/** The words of the reply for which the row holds, without a name before them. */
function wordsFor({ subject }: ReplyRule, text: RegExp, clause: Clause): string | undefined {
  // What another server said may be about our own address, so it proves nothing about the recipient.
  if (clause.isForeign && (subject === 'space' || subject === 'mailbox')) return undefined
  const match = text.exec(clause.text)
  if (!match) return undefined
  const name = NAME_BEFORE.exec(match[0])?.[0].length ?? 0
  return clause.original(match.index + name, match.index + match[0].length)
}

/** Nothing but addresses, ids and punctuation. */
function isSilent({ text, ids, tags }: Clause): boolean {
  return tokensOf(text).every(
    (token) => IS_NAME.has(token) || !/\p{L}/u.test(token) || ids.has(token) || tags.has(token),
  )
}

/** Some servers put the status into the text only, as in `Sorry, no mailbox here by that name. (#5.1.1)`. */
const STATUS_IN_TEXT = /#\s?([45]\.\d{1,3}\.\d{1,3})(?!\.?\w)/

function statusOf({ code, enhanced, text }: Reply): string | undefined {
  const status = enhanced ?? STATUS_IN_TEXT.exec(text)?.[1]
  return code < 500 && status?.startsWith('5') ? undefined : status
}
