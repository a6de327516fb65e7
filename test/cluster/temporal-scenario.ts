import { expect } from 'vitest'
import { letters } from '../faults/letters.ts'
import { tally } from '../faults/load.ts'
import { diceFor } from '../faults/seed.ts'
import { sendPaced } from '../faults/webhooks/load.ts'
import { attemptOf, recipientOf } from '../faults/webhooks/receivers.ts'
import { BY_STATUS, endpointOf, startWebhookWorldAt } from '../faults/webhooks/world.ts'
import type { TestDatabase } from '../harness/postgres.ts'
import { eventually } from '../real/daemon.ts'
import type { TemporalCluster } from './temporal.ts'

/** The delay before each attempt. The receivers acknowledge the third, and the events of some recipients never. */
const SCHEDULE_MS = [0, 500, 1_000, 1_000]
const PER_SECOND = 3
/** The hand-over looks for the workflow of a dispatch that is overdue by two minutes. */
const SETTLE_TIMEOUT_MS = 200_000
/** Retries go on within this time of the end of a fault. */
const GOES_ON_WITHIN_MS = 60_000
/** More letters than any fault takes. */
const LETTERS = 2_000

export type TemporalScenario = Awaited<ReturnType<typeof startTemporalScenario>>

export interface RetriesSeen {
  /** The responses to the sends. */
  sends: Record<string, number>
  /** Attempts after the first one that arrived between the beginning of the fault and its end. */
  retries: number
  /** The longest time without such an attempt. */
  longestPauseMs: number
}

/** Starts an API process and two workers on a cluster, with endpoints that fail at first. */
export async function startTemporalScenario(
  temporal: TemporalCluster,
  database?: TestDatabase & { drop(): Promise<void> },
) {
  const run = await startWebhookWorldAt(temporal, {
    database,
    scheduleMs: SCHEDULE_MS,
    others: BY_STATUS,
    settleTimeoutMs: SETTLE_TIMEOUT_MS,
  })
  const isAcknowledged = (attempt: number, recipient: string) => attempt > 2 && !/-\d*7@/.test(recipient)
  const hook = await run.openHook((post, attempt) => ({
    status: isAcknowledged(attempt, recipientOf(post)) ? 200 : 503,
  }))
  const node = await run.start()
  await endpointOf(run, run.account.id).put(node.client, hook.url)
  await Promise.all([run.work(), run.work()])
  // A worker takes its first tasks late on a busy machine, and would then have many at once.
  for (const letter of letters('before', 2, diceFor('before'))) await node.client.send(letter)
  await eventually(async () => run.posts().find((post) => attemptOf(post) > 2), GOES_ON_WITHIN_MS)

  /** Runs a fault while letters are sent, and their events fail. Resolves when retries go on after it. */
  async function underLoad(name: string, fault: () => Promise<void>): Promise<RetriesSeen> {
    const begun = run.logs.requests.length
    const retriesSince = (ms: number) => run.posts().filter((post) => post.arrivedMs > ms && attemptOf(post) > 1)
    let isOver = false
    const load = sendPaced(
      PER_SECOND,
      lettersUntil(name, () => isOver),
      () => node,
    )
    const beginMs = Date.now()
    const retryTimes: number[] = []
    try {
      await expect.poll(() => retriesSince(beginMs).length, { timeout: GOES_ON_WITHIN_MS }).toBeGreaterThan(20)
      const faultMs = Date.now()
      await fault()
      const endMs = Date.now()
      await expect.poll(() => retriesSince(endMs).length, { timeout: GOES_ON_WITHIN_MS }).toBeGreaterThan(20)
      retryTimes.push(faultMs, ...retriesSince(faultMs).map(({ arrivedMs }) => arrivedMs))
    } finally {
      isOver = true
      await load
    }
    const seen = {
      sends: tally(run.logs.requests.slice(begun)),
      retries: retryTimes.length - 1,
      longestPauseMs: Math.round(Math.max(...retryTimes.slice(1).map((ms, i) => ms - retryTimes[i]!))),
    }
    console.log(name, JSON.stringify(seen))
    return seen
  }

  /** What was lost, or delivered more often than the rules allow. */
  async function verdict(): Promise<string[]> {
    const violations = await run.verdict()
    const states = Map.groupBy(run.logs.database.at(-1)!.webhooks!.dispatches, ({ state }) => state)
    console.log(Array.from(states, ([state, rows]) => `${state}: ${rows.length}`).join())
    expect([...states.keys()].sort()).toEqual(['acknowledged', 'exhausted'])
    return violations
  }

  return { run, temporal, underLoad, verdict, stop: run.stop }
}

function* lettersUntil(name: string, isOver: () => boolean) {
  for (const letter of letters(name.replaceAll(' ', '-'), LETTERS, diceFor(name))) {
    if (isOver()) return
    yield letter
  }
}
