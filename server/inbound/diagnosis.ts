import type { BounceReason, DecidedBy, Kind, Reply, ReplyReading } from '../../mail/smtp/attempt.ts'
import { classifyRefusal } from '../../mail/smtp/classify.ts'
import { toReply } from '../../mail/smtp/reply.ts'
import { readAs } from '../../mail/smtp/rules.ts'
import { atMostRefused } from './member.ts'
import { isAboutUs, isBeforeRecipient, isOfOther, quotedReply } from './quoted-reply.ts'

/** What a bounce says about one failed recipient. The readers of all formats fill it in. */
export interface RecipientReport {
  /** The recipient's address; absent when the evidence is about no recipient of its own. */
  recipient?: string
  /** The enhanced status code (RFC 3463); absent or empty when the bounce has none. */
  status?: string
  /** The reply of the server that refused the message, or the reason why the sending server gave up. */
  lines: string[]
  /** The host name of the server that refused; absent or empty when the bounce names none. */
  mx?: string
  /** Our names in the report: see `KnownNames`. */
  ours: readonly string[]
  /** The report says elsewhere that the reply came before the recipient: see `isBeforeRecipient`. */
  isSenders?: boolean
  /** Something in the report speaks against a reply about this mailbox. */
  isDoubtful?: boolean
}

/** Why delivery to a recipient failed. */
export interface Diagnosis {
  /** undefined when the bounce has no evidence for any. */
  reason?: BounceReason
  /** How the evidence was read: see `readAs`. */
  readAs?: string
  /** What the evidence says about the address. */
  kind?: Kind
  /** Which part of the evidence decided, and the phrase when words decided. */
  decidedBy?: DecidedBy
  words?: string
  /** The enhanced status code. */
  enhanced?: string
  /** The reply that the bounce quotes: its code and its text. Absent when it quotes none. */
  code?: number
  reply?: string
  /** Reply code, enhanced status code and text, as far as the bounce has them. */
  detail: string
}

/** A recipient whose message was accepted at first and then bounced. */
export interface FailedRecipient extends Diagnosis {
  /**
   * The recipient's addresses in the bounce: the one that the message was sent to, then the one it was forwarded to.
   */
  addresses: string[]
  /** The address that failed, as the bounce names it; absent when it names none. */
  failedAddress?: string
}

/** An enhanced status code at the start of a line, in brackets, or after `#`. */
const STATUS = /(?:^|[#([:'"] ?)([45]\.\d{1,3}\.\d{1,3})\b(?!\.)/
// The reply codes for a bounce that quotes none. No rule decides by them alone, so the text decides.
const TEMPORARY_CODE = 452
const PERMANENT_CODE = 554
/** Longer text is cut: no SMTP reply is as long. */
const MAX_CHARACTERS = 4_096

/** The row that holds for any reply: without a reply of a server it is no evidence. */
const NOT_UNDERSTOOD = 'sender (not understood)'

/**
 * Finds the reason of a bounce. It turns the bounce into the SMTP reply that caused it and applies the rules for
 * replies: see `classify`.
 */
export function diagnose(report: RecipientReport): Diagnosis {
  const { recipient, status = '', lines: reported, mx = '', ours, isSenders, isDoubtful } = report
  const lines = reported.join('\n').slice(0, MAX_CHARACTERS).split('\n')
  const quoted = quotedReply(lines)
  const code = quoted?.code ?? (status.startsWith('4') ? TEMPORARY_CODE : PERMANENT_CODE)
  const reply = toReply({ code, lines: quoted?.lines ?? lines })
  const inText = quoted ? undefined : lines.map((line) => STATUS.exec(line)?.[1]).find((found) => found !== undefined)
  // The status of the reporter is no evidence for a reply that has none.
  const candidates = quoted ? [reply.enhanced] : [reply.enhanced, status, inText]
  // A code that ends with .0.0 says no more than the first digit of a reply code.
  const enhanced = candidates.find((each) => each && !each.endsWith('.0.0'))
  const fullReply: Reply = enhanced === undefined ? reply : { ...reply, enhanced }
  const phase = quoted && (isSenders || isBeforeRecipient(lines)) ? 'mail' : 'late'
  const names = { recipient, ours }
  const { outcome, reading: read } = classifyRefusal({ phase, reply: fullReply, mx, names })
  const believed = quoted === undefined && read.kind === 'unknown' ? asReporters(read) : read
  const isOfNoServer = quoted && (isOfOther(lines) || isAboutUs(lines, names))
  const reading = isDoubtful || isOfNoServer ? { ...read, kind: atMostRefused(read.kind) } : believed
  const phrase = readAs(reading)
  const isRepeated = enhanced !== undefined && reply.text.includes(enhanced)
  const detail = [quoted?.code, !isRepeated && enhanced, reply.text].filter(Boolean).join(' ')
  const hasWords = /\p{L}{2}/u.test(reply.text)
  const isEvidence = phrase !== NOT_UNDERSTOOD || (quoted !== undefined && hasWords)
  const told = { ...(quoted && { code, reply: reply.text }), enhanced, detail }
  if (!isEvidence) return told
  const { kind, decidedBy, words } = reading
  return { reason: outcome.reason, readAs: phrase, kind, decidedBy, words, ...told }
}

/** What a reporter without a reply says is its own: no server of the recipient said that the mailbox is unknown. */
const asReporters = (reading: ReplyReading): ReplyReading =>
  reading.decidedBy === 'words'
    ? { ...reading, kind: 'refused', row: 'unknown, says the reporter' }
    : { ...reading, kind: 'status', row: 'unknown by its status' }
