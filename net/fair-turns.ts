import { FairSlots } from './fair-slots.ts'

/** Resolves when a piece of work may begin; returns undefined when it may begin at once. */
export type TakeTurn = (accountId: string) => Promise<void> | undefined

/** Work on a call takes 1 to 5 ms in all, so others wait for a round of the event loop for less than 100 ms. */
const TURNS_OF_ROUND = 16

/**
 * Lets at most 16 pieces of work begin in each round of the event loop, accounts in turn. A loop with little to do has
 * thousands of rounds a second, and nothing waits. While one account brings more than the processor can do, its calls
 * wait for each other, and each step of another one's call waits for one short round.
 */
export function createFairTurns(): TakeTurn {
  const turns = new FairSlots({ slots: TURNS_OF_ROUND, perAccount: (free) => free })
  const wait = async (accountId: string) => {
    const endTurn = await turns.acquire({ accountId })
    setImmediate(endTurn!)
  }
  return (accountId) => {
    const endTurn = turns.tryAcquire(accountId)
    if (!endTurn) return wait(accountId)
    setImmediate(endTurn)
    return undefined
  }
}
