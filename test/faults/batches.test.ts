import { expect, test } from 'vitest'
import { untilEnd } from '../harness/until-end.ts'
import { pauseFor } from '../harness/waits.ts'
import type { ClientEntry } from '../reliability/logs.ts'
import { killTheOldest } from './duplicates.ts'
import { type Letter, letters } from './letters.ts'
import { tally } from './load.ts'
import type { Node } from './node.ts'
import { diceFor } from './seed.ts'
import { startFaultWorld, type World } from './world.ts'

let world: World

/** Sends a batch with a key until each of its messages has a response of 200. */
async function sendUntilOk(batch: Letter[], key: string, nodeOf: () => Node): Promise<ClientEntry[]> {
  for (;;) {
    const entries = await nodeOf().client.sendBatch(batch, key)
    if (entries.every(({ status }) => status === 200)) return entries
    await pauseFor(50)
  }
}

test('each message of a batch is accepted at most once, after 12 random kills under callers who repeat their batches', async () => {
  const dice = diceFor('batches')
  const slow = {
    data: () => ({ after: dice.between(0, 200), act: '354 go ahead' }),
    dot: () => ({ after: dice.between(0, 400), act: '250 2.0.0 queued' }),
  }
  world = untilEnd(await startFaultWorld({ mail: { 'one.example': slow, 'two.example': slow } }))
  await Promise.all([world.start(), world.start()])
  const nodeOf = () => dice.pick([...world.nodes])
  const responses: ClientEntry[] = []
  let batches = 0
  let isRunning = true
  async function call(): Promise<void> {
    while (isRunning) {
      const key = `batch-${++batches}`
      const batch = letters(key, dice.between(1, 8), dice)
      const tries = Array.from({ length: dice.between(1, 2) }, () => sendUntilOk(batch, key, nodeOf))
      responses.push(...(await Promise.all(tries))[0]!)
      // Callers without a pause would leave no processor to the processes that start.
      await pauseFor(dice.between(0, 400))
    }
  }
  const load = Promise.all(Array.from({ length: 10 }, call))
  await killTheOldest(world, 12, dice)
  isRunning = false
  await load
  const [counts, tries] = [tally(responses), tally(world.logs.requests)]
  console.log(`${batches} batches`, counts, tries)
  expect(counts.in_doubt).toBeGreaterThan(10)
  expect(tries.lost).toBeGreaterThan(50)
  expect(await world.verdict()).toEqual([])
})
