import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { letters } from '../letters.ts'
import type { Node } from '../node.ts'
import { answered } from '../points.ts'
import { diceFor } from '../seed.ts'
import { REPLAY } from './points.ts'
import type { Hook } from './receivers.ts'
import { endpointOf, replay, startWebhookWorld, type WebhookWorld } from './world.ts'

let run: WebhookWorld
let node: Node
let hook: Hook
let endpoint: ReturnType<typeof endpointOf>
let ids: { events: string[]; messages: string[] }
beforeEach(async () => {
  run = await startWebhookWorld()
  hook = await run.openHook()
  node = await run.start()
  endpoint = endpointOf(run, run.account.id)
  await endpoint.put(node.client, hook.url)
  await run.work()
  const sent = await Promise.all(letters('replayed', 5, diceFor('replays')).map((letter) => node.client.send(letter)))
  await run.settled()
  const events = await node.client.get('/api/v1/events?limit=100')
  ids = {
    events: (events.body as { events: { event_id: string }[] }).events.map(({ event_id }) => event_id),
    messages: sent.map(({ body }) => (body as { message_id: string }).message_id),
  }
})
afterEach(() => run.stop())

const replays = () => run.logs.database.at(-1)!.webhooks!.dispatches.filter(({ kind }) => kind === 'replay')
const waiting = async () => (await run.sql`select id from open_dispatches where kind = 'replay'`).length

test('replays go to the endpoint of now, are retried there, and mail nothing', async () => {
  const other = await run.openHook((_, attempt) => ({ status: attempt < 2 ? 503 : 200 }))
  await endpoint.put(node.client, other.url)
  await endpoint.rotate(node.client)
  const before = run.posts().length
  const entries = await Promise.all(
    [...ids.events.slice(0, 4), ...ids.messages].map((id) => replay(run, node.client, id)),
  )
  expect(entries.map(({ status }) => status)).toEqual(entries.map(() => 200))
  expect(await run.verdict()).toEqual([])
  expect(new Set(replays().map(({ state }) => state))).toEqual(new Set(['acknowledged']))
  expect(replays()).toHaveLength(4 + ids.events.length)
  expect(
    new Set(
      run
        .posts()
        .slice(before)
        .map(({ url }) => url),
    ),
  ).toEqual(new Set([other.url]))
}, 120_000)

test('a replay while Temporal is away is refused and leaves nothing; asked for again when it is back, it is made', async () => {
  await run.temporal.stop()
  const refused = await Promise.all([ids.events[0]!, ids.messages[1]!].map((id) => replay(run, node.client, id)))
  for (const entry of refused) expect(entry).toMatchObject({ status: 500, body: { error: 'transient_failure' } })
  expect(await waiting()).toBe(0)
  await run.temporal.start()
  const deadline = performance.now() + 20_000
  let entry = await replay(run, node.client, ids.events[0]!)
  while (entry.status !== 200 && performance.now() < deadline) entry = await replay(run, node.client, ids.events[0]!)
  expect(entry).toMatchObject({ status: 200 })
  expect(await run.verdict()).toEqual([])
  expect(replays()).toHaveLength(1)
}, 120_000)

test('a replay while Temporal is silent is refused and never made, also when Temporal hears of it later', async () => {
  run.temporal.pause()
  const refused = await Promise.all(ids.events.slice(0, 3).map((id) => replay(run, node.client, id)))
  run.temporal.resume()
  for (const entry of refused) expect(entry).toMatchObject({ status: 500, body: { error: 'transient_failure' } })
  await sleep(3_000)
  expect(await run.verdict()).toEqual([])
  expect(replays()).toEqual([])
}, 120_000)

test('killed between the commit of a replay and the start of its workflow: nobody was told, and it is made all the same', async () => {
  let isDead = false
  node.wire.onEvent = (event) => {
    if (isDead || !answered(REPLAY)(event)) return undefined
    isDead = true
    node.kill()
    return undefined
  }
  const entry = await replay(run, node.client, ids.messages[0]!)
  expect(entry.status).toBeUndefined()
  await node.bury()
  expect(await waiting()).toBeGreaterThan(0)
  await run.start()
  expect(await run.verdict()).toEqual([])
  expect(new Set(replays().map(({ state }) => state))).toEqual(new Set(['acknowledged']))
}, 120_000)
