import { setTimeout as sleep } from 'node:timers/promises'
import type { ClientEntry } from '../reliability/logs.ts'
import type { Letter } from './letters.ts'
import type { Node } from './node.ts'

/** Callers of their own pace: each sends one letter after the other until there are none or it is told to stop. */
export function runLoad(callers: number, letters: Iterable<Letter>, nodeOf: () => Node, leaveAfterMs?: () => number) {
  const left = letters[Symbol.iterator]()
  const entries: ClientEntry[] = []
  let goesOn = true

  async function call(): Promise<void> {
    while (goesOn) {
      const next = left.next()
      if (next.done) return
      const entry = await nodeOf().client.send(next.value, leaveAfterMs?.())
      entries.push(entry)
      // Nobody hammers a service that is not there.
      if (entry.status !== 200) await sleep(50)
    }
  }

  const ended = Promise.all(Array.from({ length: callers }, call)).then(() => entries)
  return {
    /** The sends that have ended so far. */
    entries: entries as readonly ClientEntry[],
    /** All that was sent, when the letters are sent. */
    ended,
    /** Sends no more; what runs is waited for. */
    stop: () => {
      goesOn = false
      return ended
    },
  }
}

/** How many of the sends ended how: `delivered`, `bounced`, `rejected`, `in_doubt`, `500`, `lost`. */
export function tally(entries: readonly ClientEntry[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { status, body } of entries) {
    const answer = body as { status?: string; in_doubt?: boolean }
    const word = status === 200 ? (answer.in_doubt ? 'in_doubt' : answer.status!) : String(status ?? 'lost')
    counts[word] = (counts[word] ?? 0) + 1
  }
  return counts
}
