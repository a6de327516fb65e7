import { pauseFor } from '../harness/waits.ts'
import type { ClientEntry } from '../reliability/logs.ts'
import type { Letter } from './letters.ts'
import type { Node } from './node.ts'

/** Runs callers at their own pace. Each sends one letter after the other, until none is left or `stop` is called. */
export function runLoad(callers: number, letters: Iterable<Letter>, nodeOf: () => Node, leaveAfterMs?: () => number) {
  const remaining = letters[Symbol.iterator]()
  const entries: ClientEntry[] = []
  let isRunning = true

  async function call(): Promise<void> {
    while (isRunning) {
      const next = remaining.next()
      if (next.done) return
      const entry = await nodeOf().client.send(next.value, leaveAfterMs?.())
      entries.push(entry)
      // A real caller also waits before it tries again after an error.
      if (entry.status !== 200) await pauseFor(50)
    }
  }

  const ended = Promise.all(Array.from({ length: callers }, call)).then(() => entries)
  return {
    /** The sends that have ended so far. */
    entries: entries as readonly ClientEntry[],
    /** Resolves with all sends when the last letter is sent. */
    ended,
    /** Starts no more sends and waits for those in progress. */
    stop: () => {
      isRunning = false
      return ended
    },
  }
}

/** Counts the sends by outcome: `delivered`, `bounced`, `rejected`, `in_doubt`, `500` or `lost`. */
export function tally(entries: readonly ClientEntry[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { status, body } of entries) {
    const result = body as { status?: string; in_doubt?: boolean }
    const outcome = status === 200 ? (result.in_doubt ? 'in_doubt' : result.status!) : String(status ?? 'lost')
    counts[outcome] = (counts[outcome] ?? 0) + 1
  }
  return counts
}
