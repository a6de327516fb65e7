import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import type { DispatchRow } from '../../reliability/logs.ts'
import { letters } from '../letters.ts'
import type { Node } from '../node.ts'
import { endOf } from '../points.ts'
import { diceFor } from '../seed.ts'
import { REPLAY } from './points.ts'
import { killedAt } from './worker.ts'
import { endpointOf, replay, startWebhookWorld, type WebhookWorld } from './world.ts'

let run: WebhookWorld
let node: Node
let endpoint: ReturnType<typeof endpointOf>
let ids: { events: string[]; messages: string[] }
beforeAll(async () => {
  run = await startWebhookWorld()
  const hook = await run.openHook()
  node = await run.start()
  endpoint = endpointOf(run, run.account.id)
  await endpoint.put(node.client, hook.url)
  await run.work()
  const sent = await Promise.all(letters('replayed', 5, diceFor('replays')).map((letter) => node.client.send(letter)))
  await run.settled()
  const { body } = await node.client.get('/api/v1/events?limit=100')
  ids = {
    events: (body as { events: { event_id: string }[] }).events.map(({ event_id }) => event_id),
    messages: sent.map(({ body }) => (body as { message_id: string }).message_id),
  }
})
afterAll(() => run.stop())

/** Those of now, waiting or over. */
async function replays(): Promise<DispatchRow[]> {
  await run.snapshot()
  return run.logs.database.at(-1)!.webhooks!.dispatches.filter(({ kind }) => kind === 'replay')
}

test('replays go to the endpoint of now, are retried there, and mail nothing', async () => {
  const other = await run.openHook((_, attempt) => ({ status: attempt < 2 ? 503 : 200 }))
  await endpoint.put(node.client, other.url)
  await endpoint.rotate(node.client)
  const before = run.posts().length
  const some = [...ids.events.slice(0, 4), ...ids.messages]
  const entries = await Promise.all(some.map((id) => replay(run, node.client, id)))
  expect(entries.map(({ status }) => status)).toEqual(entries.map(() => 200))
  await run.settled()
  const made = await replays()
  expect(made).toHaveLength(4 + ids.events.length)
  expect(new Set(made.map(({ state }) => state))).toEqual(new Set(['acknowledged']))
  expect(
    new Set(
      run
        .posts()
        .slice(before)
        .map(({ url }) => url),
    ),
  ).toEqual(new Set([other.url]))
})

test('a replay while Temporal is silent is refused and never made, also when Temporal hears of it later', async () => {
  const before = await replays()
  run.temporal.pause()
  const refused = await Promise.all(ids.events.slice(0, 3).map((id) => replay(run, node.client, id)))
  run.temporal.resume()
  for (const entry of refused) expect(entry).toMatchObject(REFUSED)
  await sleep(3_000)
  expect(await replays()).toEqual(before)
})

test('a replay while Temporal is away is refused and leaves nothing; asked for again when it is back, it is made', async () => {
  const before = await replays()
  await run.temporal.stop()
  const refused = await Promise.all([ids.events[0]!, ids.messages[1]!].map((id) => replay(run, node.client, id)))
  for (const entry of refused) expect(entry).toMatchObject(REFUSED)
  expect(await replays()).toEqual(before)
  await run.temporal.start()
  const again = () => replay(run, node.client, ids.events[0]!)
  await vi.waitUntil(async () => (await again()).status === 200, { timeout: 20_000 })
  await run.settled()
  expect(await replays()).toHaveLength(before.length + 1)
})

test('killed between the commit of a replay and the start of its workflow: nobody was told, and it is made all the same', async () => {
  const before = await replays()
  const dead = killedAt({ ...node, ended: node.api.ended }, { name: 'after the commit', is: endOf(REPLAY) })
  const entry = await replay(run, node.client, ids.messages[0]!)
  expect(entry.status).toBeUndefined()
  await dead
  await node.bury()
  const made = await replays()
  expect(made.length).toBeGreaterThan(before.length)
  await run.start()
  await run.settled()
  expect((await replays()).slice(before.length).map(({ state }) => state)).toEqual(
    made.slice(before.length).map(() => 'acknowledged'),
  )
})

test('the logs agree', async () => {
  expect(await run.verdict()).toEqual([])
})

const REFUSED = { status: 500, body: { error: 'transient_failure' } }
