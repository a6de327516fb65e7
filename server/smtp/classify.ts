import type { Outcome, Phase, Reply } from './attempt.ts'
import { RULES, type Rule } from './rules.ts'

export interface Answer {
  /** The command (or the greeting) the reply answers. */
  phase: Phase
  reply: Reply
  /** Name of the exchanger that said it. */
  mx: string
}

/**
 * What a reply means for the recipient. The phase decides first, the first digit decides permanence, then status, the
 * provider's words, general words and the bare code decide the reason (see `RULES`).
 * A reply that is neither a yes nor a no: in doubt once the final dot is out, otherwise a temporary failure.
 */
export function classify(answer: Answer): Outcome {
  const { phase, reply } = answer
  if (phase === 'after_dot') return { kind: 'in_doubt' }
  const digit = Math.floor(reply.code / 100)
  if (digit === 4 || digit === 5) {
    const reason = ruleFor(answer)?.reason ?? 'temporary_failure'
    return { kind: 'bounced', reason, retryable: digit === 4 || reason === 'temporary_failure' }
  }
  if (phase !== 'dot') return { kind: 'bounced', reason: 'temporary_failure', retryable: true }
  return digit === 2 ? { kind: 'delivered' } : { kind: 'in_doubt' }
}

/** The row that decides on a 4xx or 5xx reply. */
export function ruleFor({ phase, reply, mx }: Answer): Rule | undefined {
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

/** `<spam@example.com>: unknown` speaks of no spam. */
function withoutAddresses(text: string): string {
  return text
    .split(' ')
    .filter((word) => !word.includes('@'))
    .join(' ')
}

/** Some servers put the status into the words only, as in `Sorry, no mailbox here by that name. (#5.1.1)`. */
const STATUS_IN_TEXT = /(?:^|[\s#(])([45]\.\d{1,3}\.\d{1,3})(?!\.?\w)/g

/** A full mailbox counts with any code; otherwise a status of another class than the code's is not believed. */
function statusOf({ code, enhanced }: Reply, words: string): string | undefined {
  const found = [...words.matchAll(STATUS_IN_TEXT)].map((match) => match[1]!)
  const all = enhanced === undefined ? found : [enhanced, ...found]
  return all.find((status) => /^[45]\.2\.2$/.test(status)) ?? all.find((status) => status[0] === String(code)[0])
}
