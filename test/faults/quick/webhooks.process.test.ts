import { expect, test, vi } from 'vitest'
import { letRun } from '../../harness/waits.ts'
import { letters } from '../letters.ts'
import type { Node } from '../node.ts'
import { startOf } from '../points.ts'
import { diceFor } from '../seed.ts'
import { sendPaced } from '../webhooks/load.ts'
import { END } from '../webhooks/points.ts'
import { mixedResponses } from '../webhooks/receivers.ts'
import { killProcessAt } from '../webhooks/worker.ts'
import { BY_STATUS, endpointOf, startWebhookWorld, type WebhookWorld } from '../webhooks/world.ts'

// The heartbeat, the workflow task and the sticky queue of a killed worker may take a minute to run out.
vi.setConfig({ testTimeout: 300_000 })

let run: WebhookWorld

test('every event is dispatched to each of three endpoints that asks for it, and every dispatch ends, when the API and a worker are killed and Temporal restarts under load', async () => {
  const dice = diceFor('quick webhooks')
  run = await startWebhookWorld({ others: BY_STATUS })
  const hook = await run.openHook(mixedResponses(dice))
  const [first, second, worker] = await Promise.all([run.start(), run.start(), run.work()])
  await endpointOf(run, run.account.id).put(first.client, hook.url)
  let node: Node = first
  const load = sendPaced(20, letters('quick-webhooks', 120, dice), () => node)
  const end = killProcessAt(worker, { name: 'before its outcome is stored', is: startOf(END), act: 'reset' })
  await letRun(1_000)
  first.kill()
  node = second
  await Promise.all([first.cleanUp(), end])
  await run.work()
  await run.snapshot()
  await run.temporal.stop()
  await letRun(500)
  await run.temporal.start()
  await load
  expect(await run.verdict()).toEqual([])
  const { dispatches, attempts } = run.logs.database.at(-1)!.webhooks!
  expect(dispatches.filter(({ state }) => state === 'acknowledged').length).toBeGreaterThan(100)
  expect(attempts.filter(({ outcome }) => outcome === 'unknown').length).toBeGreaterThan(0)
})
