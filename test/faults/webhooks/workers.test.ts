import { expect, test } from 'vitest'
import { letRun } from '../../harness/waits.ts'
import type { PostEntry } from '../../reliability/logs.ts'
import { letters } from '../letters.ts'
import { diceFor } from '../seed.ts'
import { sendPaced } from './load.ts'
import { WORKER_POINTS } from './points.ts'
import { recipientOf } from './receivers.ts'
import { killProcessAt } from './worker.ts'
import { ALIKE, endpointOf, startWebhookWorld, type WebhookWorld } from './world.ts'

let run: WebhookWorld

test('every dispatch ends when a worker is killed at each point of its work, and an attempt with an unknown outcome is made again', async () => {
  run = await startWebhookWorld({ others: ALIKE })
  // Events for recipients of each second letter are never acknowledged.
  const isGood = (post: PostEntry, attempt: number) => attempt > 2 && !/-2@/.test(recipientOf(post))
  const hook = await run.openHook((post, attempt) => ({ status: isGood(post, attempt) ? 200 : 503 }))
  const node = await run.start()
  await endpointOf(run, run.account.id).put(node.client, hook.url)
  for (const [i, point] of WORKER_POINTS.entries()) {
    const end = killProcessAt(await run.work(), point)
    for (const letter of letters(`worker-${i}`, 2, diceFor('workers'))) await node.client.send(letter)
    await end
  }
  // Also when the worker is killed while the receiver has the request, with or without a response afterwards.
  for (const responds of [true, false]) {
    const worker = await run.work()
    const { respond } = hook
    hook.respond = async (post, attempt) => {
      if (attempt < 2) return respond(post, attempt)
      hook.respond = respond
      worker.kill()
      await worker.ended
      return responds ? respond(post, attempt) : { fault: 'reset' }
    }
    for (const letter of letters(`hit-${responds}`, 3, diceFor('workers'))) await node.client.send(letter)
    await worker.ended
  }
  await run.work()
  expect(await run.verdict()).toEqual([])
  const attempts = run.logs.database.at(-1)!.webhooks!.attempts
  expect(attempts.filter(({ outcome }) => outcome === 'unknown').length).toBeGreaterThan(5)
})

test('after SIGTERM to a worker and to the API under load, the outcomes of running attempts are stored, and none is unknown', async () => {
  const dice = diceFor('webhook drains')
  run = await startWebhookWorld({ others: ALIKE })
  const hook = await run.openHook((_, attempt) => ({
    status: attempt < 2 ? 503 : 200,
    delayMs: dice.between(100, 500),
  }))
  const [first, second, worker] = await Promise.all([run.start(), run.start(), run.work()])
  await endpointOf(run, run.account.id).put(first.client, hook.url)
  let node = first
  const load = sendPaced(20, letters('webhook-drains', 80, dice), () => node)
  await letRun(2_500)
  node = second
  await Promise.all([worker.terminate(), first.terminate(), run.work()])
  await load
  expect(await run.verdict()).toEqual([])
  const { attempts, dispatches } = run.logs.database.at(-1)!.webhooks!
  expect(attempts.filter(({ outcome }) => outcome === 'unknown')).toEqual([])
  expect(new Set(dispatches.map(({ state }) => state))).toEqual(new Set(['acknowledged']))
})
