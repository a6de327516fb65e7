import type { Outcome, Phase, Reply } from './attempt.ts'
import { RULES, type Rule } from './rules.ts'

/** A reply with its place in the conversation. */
export interface PlacedReply {
  /** The command that the reply answers, or the greeting. */
  phase: Phase
  reply: Reply
  /** Name of the exchanger that sent it. */
  mx: string
}

/**
 * What a reply means for the recipient. The phase decides first, and the first digit decides permanence. The reason
 * comes from the status, then from the provider's own texts, then from common texts, then from the bare code (see
 * `RULES`). A reply that neither accepts nor refuses is in doubt after the final dot, and temporary before it.
 */
export function classify(placed: PlacedReply): Outcome {
  const { phase, reply } = placed
  if (phase === 'after_dot') return { kind: 'in_doubt' }
  const digit = Math.floor(reply.code / 100)
  if (digit === 4 || digit === 5) {
    const reason = ruleFor(placed)?.reason ?? 'temporary_failure'
    return { kind: 'bounced', reason, retryable: digit === 4 || reason === 'temporary_failure' }
  }
  if (phase !== 'dot') return { kind: 'bounced', reason: 'temporary_failure', retryable: true }
  return digit === 2 ? { kind: 'delivered' } : { kind: 'in_doubt' }
}

/** The row that decides on a 4xx or 5xx reply. */
export function ruleFor({ phase, reply, mx }: PlacedReply): Rule | undefined {
  const code = String(reply.code)
  const words = withoutAddresses(reply.text)
  const status = statusOf(reply, words)
  const host = mx.toLowerCase()
  return RULES.find(
    (rule) =>
      rule.phases.includes(phase) &&
      (rule.code?.test(code) ?? true) &&
      (rule.status === undefined || (status !== undefined && rule.status.test(status))) &&
      !(rule.bare && status !== undefined) &&
      (rule.mx?.some((name) => host === name || host.endsWith(`.${name}`)) ?? true) &&
      (rule.text?.test(words) ?? true),
  )
}

/** The text without addresses: `<spam@example.com>: unknown` is not about spam. */
function withoutAddresses(text: string): string {
  return text
    .split(' ')
    .filter((word) => !word.includes('@'))
    .join(' ')
}

/** Some servers put the status into the text only, as in `Sorry, no mailbox here by that name. (#5.1.1)`. */
const STATUS_IN_TEXT = /(?:^|[\s#(])([45]\.\d{1,3}\.\d{1,3})(?!\.?\w)/g

/** The status of the reply. One of another class than the code's is ignored, except for a full mailbox. */
function statusOf({ code, enhanced }: Reply, words: string): string | undefined {
  const inText = [...words.matchAll(STATUS_IN_TEXT)].map((match) => match[1]!)
  const all = enhanced === undefined ? inText : [enhanced, ...inText]
  return all.find((status) => /^[45]\.2\.2$/.test(status)) ?? all.find((status) => status[0] === String(code)[0])
}
