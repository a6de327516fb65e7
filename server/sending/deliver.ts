import type { RecipientOutcome } from '../../gen/verdict/v1/outcomes_pb.ts'
import type { Delivery, Engine } from '../smtp/attempt.ts'
import type { Recipient } from './checks.ts'
import { outcomeOf } from './outcome.ts'

export interface Delivered {
  /** One for each recipient, those that the checks had decided included. */
  outcomes: RecipientOutcome[]
  /** Whether a marker was asked for: from then on no answer may say that nothing was sent. */
  marked: boolean
  /** The first fault of our own, in words. */
  fault?: string
}

/** One attempt at everyone who is still undecided. `mark` is asked with positions among all recipients. */
export async function deliver(
  engine: Engine,
  recipients: Recipient[],
  mark: (positions: number[]) => Promise<boolean>,
  delivery: Omit<Delivery, 'recipients' | 'beforeDot'>,
): Promise<Delivered> {
  let marked = false
  const positions = recipients.flatMap(({ outcome }, position) => (outcome ? [] : [position]))
  const attempts = await engine.deliver({
    ...delivery,
    recipients: positions.map((p) => ({ address: recipients[p]!.address.address, site: recipients[p]!.site! })),
    beforeDot: (accepted) => {
      // Before it is known: a marker whose answer is lost may be there.
      marked = true
      return mark(accepted.map((i) => positions[i]!))
    },
  })
  const outcomes = recipients.map(
    ({ outcome, address }, position) => outcome ?? outcomeOf(address.address, attempts[positions.indexOf(position)]!),
  )
  const faults = attempts.flatMap(({ outcome }) => (outcome.kind === 'our_fault' ? [outcome.cause] : []))
  return { outcomes, marked, fault: faults[0] }
}
