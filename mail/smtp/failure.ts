import type { Phase, Reply, TlsEvidence } from './attempt.ts'
import { classify, type Judgement } from './classify.ts'
import type { KnownNames } from './plain-text.ts'
import { type RawReply, toReply } from './reply.ts'
import type { BrokenWire } from './wire.ts'

/** What ended a try before the final dot. */
export interface Failure {
  kind: 'failure'
  phase: Phase
  /**
   * `unreachable` and `other_family`: as in `ConnectFailure`. `insecure`: verified TLS is demanded, and the host did
   * not offer it. `slow`: the server takes too long over each recipient for all of them to fit into one transaction.
   * `skipped`: the host may not be tried now.
   */
  how: BrokenWire['how'] | 'unreachable' | 'other_family' | 'refused' | 'insecure' | 'slow' | 'skipped'
  detail?: string
  /** As in `BrokenWire`. */
  silentMs?: number
  keptMs?: number
  reply?: Reply
  ip?: string
  tls?: TlsEvidence
  /** Why this try was in clear: as in `Session`. */
  withoutTls?: Failure
}

/** The failure in what came instead of the expected reply. A refusal that came before its command is a refusal too. */
export function failureOf(phase: Phase, result: RawReply | BrokenWire): Failure {
  const reply = result.kind === 'reply' ? result : result.reply
  const { keptMs } = result.kind === 'broken' ? result : {}
  if (reply && reply.code >= 400) return { kind: 'failure', phase, how: 'refused', reply: toReply(reply), keptMs }
  if (result.kind === 'broken') {
    const { how, detail, silentMs } = result
    return { kind: 'failure', phase, how, detail, silentMs, keptMs }
  }
  return { kind: 'failure', phase, how: 'garbage', detail: `${result.code} in answer to ${phase}` }
}

export function judgeFailure({ phase, how, detail = how, reply }: Failure, mx: string, names?: KnownNames): Judgement {
  switch (how) {
    case 'refused':
      return classify({ phase, reply: reply!, mx, names })
    case 'local':
    case 'unreachable':
    case 'left':
      return { outcome: { kind: 'our_fault', cause: detail } }
    case 'garbage':
    case 'skipped':
      return { outcome: { kind: 'bounced', reason: 'temporary_failure', retryable: true } }
    case 'closed':
    case 'other_family':
    case 'timeout':
    case 'slow':
      return { outcome: { kind: 'bounced', reason: 'connection_timeout', retryable: true } }
    case 'insecure':
      return { outcome: { kind: 'bounced', reason: 'policy_block', retryable: false } }
  }
}
