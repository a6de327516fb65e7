import type { Evidence } from '../../gen/verdict/v1/outcomes_pb.ts'
import { OutsideText } from '../outside-text/outside-text.tsx'
import { Ago } from '../time/ago.tsx'
import { decidedWords } from './evidence-words.ts'

/** How a reply or report was read, what of it decided, and when the address last took mail. */
export function EvidenceNote({ evidence }: { evidence: Evidence }) {
  const { readAs, lastDeliveredAt } = evidence
  return (
    <>
      {readAs && <ReadAs {...evidence} readAs={readAs} />}{' '}
      {lastDeliveredAt ? (
        <>
          Last delivered <Ago at={lastDeliveredAt} />.
        </>
      ) : (
        'No delivery in the 90 days before.'
      )}
    </>
  )
}

type ReadEvidence = Pick<Evidence, 'decidedBy' | 'enhanced' | 'code' | 'words'> & { readAs: string }

/** How a reply was read, and what of it decided. */
export function ReadAs({ readAs, words, ...read }: ReadEvidence) {
  const decided = decidedWords(read)
  return (
    <>
      Read as {readAs}
      {decided && `, ${decided}`}
      {words && (
        <>
          {' '}
          “<OutsideText text={words} />”
        </>
      )}
      .
    </>
  )
}
