import { create, type JsonValue, toJson } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { EvidenceSchema, type SmtpEvidence } from '../../gen/verdict/v1/outcomes_pb.ts'
import { evidenceKindNames } from '../db/outcome-names.ts'
import type { AddressStanding } from './standings.ts'

// What an entry of the suppression list or a report rests on, as it is stored: JSON of `verdict.v1.Evidence`.

/** How a reply or a report was read. */
export type Read = Partial<
  Pick<SmtpEvidence, 'code' | 'enhanced' | 'reply' | 'readAs' | 'phase' | 'decidedBy' | 'words'>
>

/** @param kind what it says against the address, in words */
export function storedEvidence(read: Read, kind?: string, lastDeliveredMs?: number): JsonValue {
  const { code, enhanced, reply, readAs, phase, decidedBy, words } = read
  const evidence = create(EvidenceSchema, {
    ...{ code, enhanced, reply, readAs, phase, decidedBy, words },
    kind: kind === undefined ? undefined : evidenceKindNames.value(kind),
    lastDeliveredAt: lastDeliveredMs === undefined ? undefined : timestampFromMs(lastDeliveredMs),
  })
  return toJson(EvidenceSchema, evidence)
}

/** The entry that a bounce makes, where one is due: ENTRY of ledger/rows.ts, with the kind of the rule that holds. */
export function bounceEntry({ due, lastDeliveredMs }: AddressStanding, read: Read) {
  return due && { reason: 'bounce', days: due.days, evidence: storedEvidence(read, due.kind, lastDeliveredMs) }
}
