import type { Outcome, Phase, Reply } from './attempt.ts'
import { classify } from './classify.ts'
import { type RawReply, toReply } from './reply.ts'
import type { TlsState } from './tls.ts'
import type { Broken } from './wire.ts'

/** What ended a try, before the final dot. */
export interface Failure {
  kind: 'failure'
  phase: Phase
  /** `insecure`: verified TLS is demanded, and was not to be had. */
  how: Broken['how'] | 'local' | 'refused' | 'insecure'
  detail?: string
  reply?: Reply
  ip?: string
  tls?: TlsState
}

/** Reads what came instead of the reply that was hoped for; a no that nobody had asked for yet is still a no. */
export function failureOf(phase: Phase, heard: RawReply | Broken): Failure {
  const reply = heard.kind === 'reply' ? heard : heard.reply
  if (reply && reply.code >= 400) return { kind: 'failure', phase, how: 'refused', reply: toReply(reply) }
  if (heard.kind === 'broken') return { kind: 'failure', phase, how: heard.how, detail: heard.detail }
  return { kind: 'failure', phase, how: 'garbage', detail: `${heard.code} in answer to ${phase}` }
}

export function outcomeOf({ phase, how, detail = how, reply }: Failure, mx: string): Outcome {
  switch (how) {
    case 'refused':
      return classify({ phase, reply: reply!, mx })
    case 'local':
    case 'left':
      return { kind: 'our_fault', cause: detail }
    case 'garbage':
      return { kind: 'bounced', reason: 'temporary_failure', retryable: true }
    case 'closed':
    case 'timeout':
      return { kind: 'bounced', reason: 'connection_timeout', retryable: true }
    case 'insecure':
      return { kind: 'bounced', reason: 'policy_block', retryable: false }
  }
}
