import { afterEach, expect, test } from 'vitest'
import { letters } from '../letters.ts'
import { diceFor } from '../seed.ts'
import { WORKER_POINTS } from './points.ts'
import { killedAt } from './worker.ts'
import { endpointOf, startWebhookWorld, type WebhookWorld } from './world.ts'

let run: WebhookWorld
afterEach(() => run.stop())

test('a worker killed at each point of its work: every dispatch ends, what nobody knows is made again and called unknown', async () => {
  run = await startWebhookWorld()
  const hook = await run.openHook((_, attempt) => ({ status: attempt < 3 ? 503 : 200 }))
  const node = await run.start()
  await endpointOf(run, run.account.id).put(node.client, hook.url)
  for (const [i, point] of WORKER_POINTS.entries()) {
    const began = performance.now()
    const dead = killedAt(await run.work(), point)
    for (const letter of letters(`worker-${i}`, 3, diceFor('workers'))) await node.client.send(letter)
    await dead
    console.log(point.name, Math.round(performance.now() - began))
  }
  await run.work()
  const began = performance.now()
  expect(await run.verdict()).toEqual([])
  console.log('settled', Math.round(performance.now() - began))
}, 240_000)
