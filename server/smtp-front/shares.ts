import { createKeyedAmounts } from '../../net/keyed-amounts.ts'
import { type ClientLimits, Clients } from './clients.ts'

export type FrontShares = ReturnType<typeof createFrontShares>

/** What listeners share: connections, and the memory that messages take while they arrive and are sent. */
export const createFrontShares = (limits: ClientLimits & { bytesHeld: number }) => ({
  clients: new Clients(limits),
  held: createHeldContent(limits.bytesHeld),
})

/** Memory of which one account takes at most half. */
function createHeldContent(mostBytes: number) {
  let held = 0
  const byAccount = createKeyedAmounts()
  return {
    hasRoom: (accountId: string, more: number): boolean =>
      held + more <= mostBytes && byAccount.of(accountId) + more <= mostBytes / 2,
    add(accountId: string, bytes: number): void {
      held += bytes
      byAccount.add(accountId, bytes)
    },
  }
}
