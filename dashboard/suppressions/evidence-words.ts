import { DecidedBy, type Evidence, EvidenceKind } from '../../gen/verdict/v1/outcomes_pb.ts'

/** What evidence says against an address, by the value in the address of the page. */
export const EVIDENCE_KIND_WORDS = [
  [EvidenceKind.COMPLAINT, 'complaint', 'Complaint'],
  [EvidenceKind.UNKNOWN, 'unknown', 'No such mailbox'],
  [EvidenceKind.STATUS, 'status', 'No such mailbox, by its status alone'],
  [EvidenceKind.REFUSED, 'refused', 'Mailbox refused'],
  [EvidenceKind.FULL, 'full', 'Mailbox full'],
] as const

export const kindOfName = (name: string | undefined) => EVIDENCE_KIND_WORDS.find(([, known]) => known === name)?.[0]

export const kindWord = (kind: EvidenceKind | undefined) => EVIDENCE_KIND_WORDS.find(([value]) => value === kind)?.[2]

/** Which part of a reply or report decided. When its words did, the phrase follows. */
export function decidedWords({ decidedBy, enhanced, code }: Pick<Evidence, 'decidedBy' | 'enhanced' | 'code'>): string {
  switch (decidedBy) {
    case DecidedBy.WORDS:
      return 'by its words'
    case DecidedBy.STATUS:
      return enhanced ? `by its status ${enhanced}` : 'by its status'
    case DecidedBy.CODE:
      return code ? `by its code ${code}` : 'by its code'
    default:
      return ''
  }
}
