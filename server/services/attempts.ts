import type { MessageInitShape } from '@bufbuild/protobuf'
import { type AttemptOutcome, AttemptOutcomeSchema, type AttemptPhasesSchema } from '../../gen/verdict/v1/events_pb.ts'
import { enumNames } from '../enum-names.ts'

const outcomeNames = enumNames<AttemptOutcome>(AttemptOutcomeSchema)

/** How an attempt ended: the columns of a stored attempt, and the result of a test POST. Phases in milliseconds. */
export interface AttemptEnd {
  outcome: string
  statusCode?: number | null
  phases?: { dns?: number; connect?: number; tls?: number; head?: number; body?: number } | null
  excerpt?: string | null
  excerptCut?: boolean
}

/** The fields that every response about an attempt has. */
export function shownEnd({ outcome, statusCode, phases, excerpt, excerptCut }: AttemptEnd) {
  return {
    outcome: outcomeNames.value(outcome),
    statusCode: statusCode ?? undefined,
    phases: phases ? shownPhases(phases) : undefined,
    responseExcerpt: excerpt || undefined,
    responseCut: excerptCut ? true : undefined,
  }
}

function shownPhases(phases: NonNullable<AttemptEnd['phases']>): MessageInitShape<typeof AttemptPhasesSchema> {
  const { dns, connect, tls, head, body } = phases
  return { dnsMs: dns, connectMs: connect, tlsMs: tls, headMs: head, bodyMs: body }
}
