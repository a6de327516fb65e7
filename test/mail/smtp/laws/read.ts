import { NAMES } from '../../../../bench/verdicts/labelled.ts'
import type { Reply } from '../../../../mail/smtp/attempt.ts'
import { classify } from '../../../../mail/smtp/classify.ts'
import type { KnownNames } from '../../../../mail/smtp/plain-text.ts'
import type { ReplyPhase } from '../../../../mail/smtp/rules/rule.ts'
import { readAs } from '../../../../mail/smtp/rules.ts'

/** What a law compares of a reading. */
export interface Read {
  reason: string
  kind: string
  decidedBy: string
  readAs: string
  words?: string
}

export interface Place {
  phase: ReplyPhase
  reply: Reply
  mx: string
  names?: KnownNames
}

export function read({ phase, reply, mx, names = NAMES }: Place): Read {
  const { outcome, reading } = classify({ phase, reply, mx, names })
  return {
    reason: outcome.kind === 'bounced' ? outcome.reason : outcome.kind,
    kind: reading?.kind ?? 'none',
    decidedBy: reading?.decidedBy ?? 'code',
    readAs: reading ? readAs(reading) : '',
    ...(reading?.words !== undefined && { words: reading.words }),
  }
}

/** The kinds of a reading, the weakest first. */
const KINDS = ['none', 'full', 'refused', 'status', 'unknown']
export const strength = ({ kind }: Read): number => KINDS.indexOf(kind)
