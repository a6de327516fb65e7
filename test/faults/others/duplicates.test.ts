import { expect, test } from 'vitest'
import { untilEnd } from '../../harness/until-end.ts'
import { letRun } from '../../harness/waits.ts'
import { bodiesOf, sendDuplicates } from '../duplicates.ts'
import type { Letter } from '../letters.ts'
import { runLoad } from '../load.ts'
import type { Node } from '../node.ts'
import { startFaultWorld, type World } from '../world.ts'

let world: World

/** The p99 in milliseconds of at least 100 sends to a server that replies at once, however slow the machine is. */
async function p99Of(nodes: Node[], purpose: string, forMs: number): Promise<number> {
  let count = 0
  const load = runLoad(4, lettersFor(purpose), () => nodes[count++ % 2]!)
  await letRun(forMs)
  await expect.poll(() => count, { timeout: 30_000 }).toBeGreaterThan(104)
  const times = (await load.stop()).map(({ sentAtMs, endedAtMs }) => endedAtMs! - sentAtMs).sort((a, b) => a - b)
  return times[Math.floor(times.length * 0.99)]!
}

function* lettersFor(purpose: string): Generator<Letter> {
  for (let i = 1; ; i++) yield { request: `${purpose}-${i}`, to: [`ann.${purpose}-${i}@two.example`], text: 'Hello.' }
}

test('1,000 waiting duplicates do not delay other sends', async () => {
  const slow = { dot: { after: 8_000, act: '250 2.0.0 queued' } }
  world = untilEnd(await startFaultWorld({ mail: { 'one.example': slow, 'two.example': {} } }))
  const nodes = await Promise.all([world.start(), world.start()])
  await p99Of(nodes, 'warm', 2_000)
  const before = await p99Of(nodes, 'before', 4_000)
  const letter = { request: 'crowd', to: ['ann@one.example'], text: 'All is well.', key: 'crowd' }
  const crowd = sendDuplicates(nodes, letter, 1_000)
  await letRun(2_500)
  const meanwhile = await p99Of(nodes, 'meanwhile', 4_000)
  console.log(`p99 of unrelated sends: ${before.toFixed(1)} ms, with 1,000 waiting ${meanwhile.toFixed(1)} ms`)
  expect(bodiesOf(await crowd)).toHaveLength(1)
  expect(meanwhile).toBeLessThan(before * 5 + 100)
})
