import type { BounceReason, Phase, Reply } from '../smtp/attempt.ts'
import { classify } from '../smtp/classify.ts'
import { toReply } from '../smtp/reply.ts'

/** What a report says of one recipient who was not reached. */
export interface Diagnosis {
  /** RFC 3463 status; empty when none is told. */
  status: string
  /** The words of the server that refused, or of the one that gave up. */
  lines: string[]
  /** The server that refused; empty when none is told. */
  mx: string
  phase: Phase
}

export interface Verdict {
  reason: BounceReason
  enhanced?: string
  /** Code, status and words, as far as they are told. */
  detail: string
}

/** A recipient whom a server took a message for, and did not reach. */
export interface Failure extends Verdict {
  /** The addresses the report has for him, the one that was written to first. */
  addresses: string[]
}

/** A code at the start of a line, or after the name of the server that said it. */
const CODE = /(?:^|[:\]] ?)([45]\d\d)(?=[ -])/
/** Says no more than the first digit of a code does. */
const VAGUE = /\.0\.0$/
/** Codes that leave everything to the words, where no server's own is told. */
const CODE_OF_CLASS: Record<string, number> = { '4': 452 }
const FAILED = 554
/** More is not what a server says to another. */
const MAX_WORDS = 4_096

/** Judges a report by the rules of a reply that comes while the sender waits: see `classify`. */
export function diagnose({ status, lines: told, mx, phase }: Diagnosis): Verdict {
  const lines = told.join('\n').slice(0, MAX_WORDS).split('\n')
  const said = codeIn(lines)
  const code = said?.code ?? CODE_OF_CLASS[status[0] ?? ''] ?? FAILED
  const reply = toReply({ kind: 'reply', code, lines: said?.lines ?? lines })
  const known = status[0] === String(code)[0] && !VAGUE.test(status) ? status : undefined
  const enhanced = reply.enhanced ?? known
  const judged: Reply = enhanced === undefined ? reply : { ...reply, enhanced }
  const outcome = classify({ phase, reply: judged, mx })
  return {
    reason: outcome.kind === 'bounced' ? outcome.reason : 'temporary_failure',
    enhanced,
    detail: [said?.code, enhanced, reply.text].filter(Boolean).join(' '),
  }
}

/** The reply that a report quotes, from its code on. A repeated code begins a new line of it, wherever the report folded it. */
function codeIn(lines: string[]): { code: number; lines: string[] } | undefined {
  for (const [i, line] of lines.entries()) {
    const found = CODE.exec(line)
    if (!found) continue
    const code = found[1]!
    const from = found.index + found[0].length - code.length
    const words = [line.slice(from), ...lines.slice(i + 1)].join('\n')
    return { code: Number(code), lines: words.split(new RegExp(`\\n|\\s(?=${code}[ -])`)) }
  }
  return undefined
}
