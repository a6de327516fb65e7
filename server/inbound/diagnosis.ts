import type { BounceReason, Phase, Reply } from '../smtp/attempt.ts'
import { classify } from '../smtp/classify.ts'
import { toReply } from '../smtp/reply.ts'

/** The part of a report about one recipient who was not reached. */
export interface RecipientReport {
  /** RFC 3463 status; empty when the report has none. */
  status: string
  /** The text of the server that refused, or of the one that gave up. */
  lines: string[]
  /** The server that refused; empty when the report names none. */
  mx: string
  phase: Phase
}

/** Why the recipient was not reached. */
export interface Diagnosis {
  reason: BounceReason
  enhanced?: string
  /** Code, status and text, as far as the report has them. */
  detail: string
}

/** A recipient whose message a server accepted and did not deliver. */
export interface FailedRecipient extends Diagnosis {
  /** The addresses of the recipient in the report, the original one first. */
  addresses: string[]
}

/** A code at the start of a line, or after the name of its server. */
const CODE = /(?:^|[:\]] ?)([45]\d\d)(?=[ -])/
/** A status that tells no more than the first digit of a code. */
const VAGUE = /\.0\.0$/
/** By class of the status, a code that leaves the reason to the text, for reports without a server's own code. */
const CODE_OF_CLASS: Record<string, number> = { '4': 452 }
const FAILED = 554
/** The most text that is read: no server says more to another. */
const MAX_CHARACTERS = 4_096

/** Judges a report by the rules for a reply that comes while the sender waits: see `classify`. */
export function diagnose({ status, lines: reported, mx, phase }: RecipientReport): Diagnosis {
  const lines = reported.join('\n').slice(0, MAX_CHARACTERS).split('\n')
  const quoted = quotedReply(lines)
  const code = quoted?.code ?? CODE_OF_CLASS[status[0] ?? ''] ?? FAILED
  const reply = toReply({ kind: 'reply', code, lines: quoted?.lines ?? lines })
  const reportedStatus = status[0] === String(code)[0] && !VAGUE.test(status) ? status : undefined
  const enhanced = reply.enhanced ?? reportedStatus
  const fullReply: Reply = enhanced === undefined ? reply : { ...reply, enhanced }
  const outcome = classify({ phase, reply: fullReply, mx })
  return {
    reason: outcome.kind === 'bounced' ? outcome.reason : 'temporary_failure',
    enhanced,
    detail: [quoted?.code, enhanced, reply.text].filter(Boolean).join(' '),
  }
}

/**
 * The reply that a report quotes, from its code on. A repeated code begins a new line, wherever the report folded it.
 */
function quotedReply(lines: string[]): { code: number; lines: string[] } | undefined {
  for (const [i, line] of lines.entries()) {
    const match = CODE.exec(line)
    if (!match) continue
    const code = match[1]!
    const from = match.index + match[0].length - code.length
    const text = [line.slice(from), ...lines.slice(i + 1)].join('\n')
    return { code: Number(code), lines: text.split(new RegExp(`\\n|\\s(?=${code}[ -])`)) }
  }
  return undefined
}
