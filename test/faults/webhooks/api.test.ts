import { beforeEach, expect, test } from 'vitest'
import { letRun } from '../../harness/waits.ts'
import { letters } from '../letters.ts'
import { runLoad, tally } from '../load.ts'
import type { Node } from '../node.ts'
import { diceFor } from '../seed.ts'
import { API_POINTS } from './points.ts'
import { mixedResponses } from './receivers.ts'
import { killProcessAt } from './worker.ts'
import { BY_STATUS, endpointOf, startWebhookWorld, type WebhookWorld } from './world.ts'

let run: WebhookWorld
beforeEach(async () => {
  run = await startWebhookWorld({ others: BY_STATUS })
})

const processOf = (node: Node) => ({ wire: node.wire, kill: node.kill, ended: node.api.ended })

test('every dispatch to each of three endpoints ends when the API is killed between the commit of an outcome and the end of its first attempts', async () => {
  const dice = diceFor('first attempts')
  const hook = await run.openHook()
  let node = await run.start()
  await endpointOf(run, run.account.id).put(node.client, hook.url)
  await run.work()
  for (const [i, point] of API_POINTS.entries()) {
    const end = killProcessAt(processOf(node), point)
    await Promise.all(letters(`api-${i}`, 5, dice).map((letter) => node.client.send(letter)))
    await end
    await node.cleanUp()
    node = await run.start()
  }
  // Also while a receiver has requests.
  let hits = 0
  hook.respond = async () => {
    if (++hits !== 3) return {}
    node.kill()
    await node.api.ended
    return {}
  }
  await Promise.all(letters('api-hit', 5, dice).map((letter) => node.client.send(letter)))
  await node.api.ended
  await node.cleanUp()
  expect(await run.verdict()).toEqual([])
  const { attempts, dispatches } = run.logs.database.at(-1)!.webhooks!
  expect(attempts.filter(({ outcome }) => outcome === 'unknown').length).toBeGreaterThan(5)
  expect(new Set(dispatches.map(({ state }) => state))).toEqual(new Set(['acknowledged']))
})

test('every dispatch to each of three endpoints ends when the API is killed six times under load, with receivers that fail at times', async () => {
  const dice = diceFor('webhook kills')
  const hook = await run.openHook(mixedResponses(dice))
  let node = await run.start()
  await endpointOf(run, run.account.id).put(node.client, hook.url)
  await run.work()
  let next = run.start()
  for (let i = 0; i < 6; i++) {
    const load = runLoad(8, letters(`kill-${i}`, 2_000, dice), () => node)
    await letRun(dice.between(300, 1_200))
    // A slow machine may have delivered nothing by then.
    const postsBefore = run.webhooks.posts.length
    await expect.poll(() => run.webhooks.posts.length).toBeGreaterThan(postsBefore + 20)
    await run.snapshot()
    node.kill()
    await load.stop()
    await node.cleanUp()
    node = await next
    next = run.start()
  }
  await next
  console.log(tally(run.logs.requests))
  expect(await run.verdict()).toEqual([])
  const states = Map.groupBy(run.logs.database.at(-1)!.webhooks!.dispatches, ({ state }) => state)
  console.log(Array.from(states, ([state, rows]) => `${state}: ${rows.length}`).join())
  expect(states.get('acknowledged')!.length).toBeGreaterThan(50)
})
