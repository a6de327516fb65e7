import { beforeAll, expect, test, vi } from 'vitest'
import { quietFor } from '../../harness/waits.ts'
import type { DispatchRow } from '../../reliability/logs.ts'
import { letters } from '../letters.ts'
import type { Node } from '../node.ts'
import { endOf } from '../points.ts'
import { diceFor } from '../seed.ts'
import { REPLAY } from './points.ts'
import { killProcessAt } from './worker.ts'
import { ALIKE, endpointOf, replay, startWebhookWorld, type WebhookWorld } from './world.ts'

const ENDPOINTS = 1 + ALIKE.length

let run: WebhookWorld
let node: Node
let endpoint: ReturnType<typeof endpointOf>
let ids: { events: string[]; messages: string[] }
beforeAll(async () => {
  run = await startWebhookWorld({ others: ALIKE })
  const hook = await run.openHook()
  node = await run.start()
  endpoint = endpointOf(run, run.account.id)
  await endpoint.put(node.client, hook.url)
  await run.work()
  const sends = await Promise.all(letters('replayed', 5, diceFor('replays')).map((letter) => node.client.send(letter)))
  await run.waitUntilSettled()
  const { body } = await node.client.get('/api/v1/events?limit=100')
  ids = {
    events: (body as { events: { event_id: string }[] }).events.map(({ event_id }) => event_id),
    messages: sends.map(({ body }) => (body as { message_id: string }).message_id),
  }
})

/** The replays that are stored now, both waiting and ended. */
async function replays(): Promise<DispatchRow[]> {
  await run.snapshot()
  return run.logs.database.at(-1)!.webhooks!.dispatches.filter(({ kind }) => kind === 'replay')
}

test('replays go to the current endpoint, are retried there, and send no mail', async () => {
  const other = await run.openHook((_, attempt) => ({ status: attempt < 2 ? 503 : 200 }))
  await endpoint.put(node.client, other.url)
  await endpoint.rotate(node.client)
  const before = run.posts().length
  const some = [...ids.events.slice(0, 4), ...ids.messages]
  const entries = await Promise.all(some.map((id) => replay(run, node.client, id)))
  expect(entries.map(({ status }) => status)).toEqual(entries.map(() => 200))
  await run.waitUntilSettled()
  const others = run.webhooks.endpoints.slice(1, ENDPOINTS).map(({ url }) => url!)
  const storedReplays = await replays()
  expect(storedReplays).toHaveLength(ENDPOINTS * (4 + ids.events.length))
  expect(new Set(storedReplays.map(({ state }) => state))).toEqual(new Set(['acknowledged']))
  expect(
    new Set(
      run
        .posts()
        .slice(before)
        .map(({ url }) => url),
    ),
  ).toEqual(new Set([other.url, ...others]))
})

test('a replay while Temporal is silent is refused and never made, even when the request reaches Temporal later', async () => {
  const before = await replays()
  await run.temporal.pause()
  const refusals = await Promise.all(ids.events.slice(0, 3).map((id) => replay(run, node.client, id)))
  run.temporal.resume()
  for (const entry of refusals) expect(entry).toMatchObject(REFUSED)
  await quietFor(3_000)
  expect(await replays()).toEqual(before)
})

test('a replay while Temporal is away is refused and leaves nothing, and a new request is accepted when Temporal is back', async () => {
  const before = await replays()
  await run.temporal.stop()
  const refusals = await Promise.all([ids.events[0]!, ids.messages[1]!].map((id) => replay(run, node.client, id)))
  for (const entry of refusals) expect(entry).toMatchObject(REFUSED)
  expect(await replays()).toEqual(before)
  await run.temporal.start()
  const again = () => replay(run, node.client, ids.events[0]!)
  await vi.waitUntil(async () => (await again()).status === 200, { timeout: 20_000 })
  await run.waitUntilSettled()
  expect(await replays()).toHaveLength(before.length + ENDPOINTS)
})

test('a replay whose API process is killed between its commit and the start of its workflow is made, without a response', async () => {
  const before = await replays()
  const end = killProcessAt({ ...node, ended: node.api.ended }, { name: 'after the commit', is: endOf(REPLAY) })
  const entry = await replay(run, node.client, ids.messages[0]!)
  expect(entry.status).toBeUndefined()
  await end
  await node.cleanUp()
  const storedReplays = await replays()
  expect(storedReplays.length).toBeGreaterThan(before.length)
  await run.start()
  await run.waitUntilSettled()
  expect((await replays()).slice(before.length).map(({ state }) => state)).toEqual(
    storedReplays.slice(before.length).map(() => 'acknowledged'),
  )
})

test('the logs of callers, receivers, mail servers, database and processes agree', async () => {
  expect(await run.verdict()).toEqual([])
})

const REFUSED = { status: 500, body: { error: 'transient_failure' } }
