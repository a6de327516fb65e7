import { expect, test } from 'vitest'
import type { ScriptedResponse } from '../../harness/receiver.ts'
import { letRun } from '../../harness/waits.ts'
import { createClient } from '../client.ts'
import { letters } from '../letters.ts'
import { diceFor } from '../seed.ts'
import { sendPaced } from './load.ts'
import { attemptOf } from './receivers.ts'
import { BY_STATUS, endpointOf, startWebhookWorld, type WebhookWorld } from './world.ts'

// Endpoints that change, disappear or misbehave while events are under way. `run.verdict()` lists broken promises.

let run: WebhookWorld

/** The dispatches by their final state, as the last snapshot of the database has them. */
const dispatchesByState = () => Map.groupBy(run.logs.database.at(-1)!.webhooks!.dispatches, ({ state }) => state)

test('deleting an endpoint under load cancels its waiting attempts and no others, and a new endpoint gets the later events', async () => {
  const dice = diceFor('deleted')
  run = await startWebhookWorld({ others: BY_STATUS })
  const hook = await run.openHook((_, attempt) => ({ status: attempt < 3 ? 503 : 200 }))
  const node = await run.start()
  const endpoint = endpointOf(run, run.account.id)
  const deleted = await endpoint.put(node.client, hook.url)
  await run.work()
  const load = sendPaced(20, letters('deleted', 200, dice), () => node)
  await expect.poll(() => run.posts().length).toBeGreaterThan(40)
  await endpoint.delete(node.client)
  await run.snapshot()
  await letRun(3_000)
  const other = await run.openHook()
  await endpoint.put(node.client, other.url)
  await sendPaced(20, letters('later', 40, dice), () => node)
  await load
  expect(await run.verdict()).toEqual([])
  expect(dispatchesByState().get('cancelled')!.length).toBeGreaterThan(10)
  expect(
    new Set(
      dispatchesByState()
        .get('cancelled')!
        .map(({ endpoint }) => endpoint),
    ),
  ).toEqual(new Set([deleted]))
  expect(dispatchesByState().get('acknowledged')!.length).toBeGreaterThan(10)
  expect(dispatchesByState().has('exhausted')).toBe(false)
})

test('disabling an endpoint under load ends its further events, its waiting attempts go on, and the others get theirs', async () => {
  const dice = diceFor('disabled')
  run = await startWebhookWorld({ others: BY_STATUS })
  const hook = await run.openHook((_, attempt) => ({ status: attempt < 3 ? 503 : 200 }))
  const node = await run.start()
  const endpoint = endpointOf(run, run.account.id)
  await endpoint.put(node.client, hook.url)
  await run.work()
  const load = sendPaced(20, letters('disabled', 120, dice), () => node)
  await expect.poll(() => run.posts().length).toBeGreaterThan(60)
  const disabled = await endpoint.disableLast(node.client)
  await load
  expect(await run.verdict()).toEqual([])
  expect([...dispatchesByState().keys()]).toEqual(['acknowledged'])
  const counts = Map.groupBy(dispatchesByState().get('acknowledged')!, (row) => row.endpoint)
  expect(counts.size).toBe(3)
  expect(counts.get(disabled)!.length).toBeLessThan(run.logs.database.at(-1)!.webhooks!.events.length / 2)
})

test('each attempt uses the current URL and secret when the endpoint changes while attempts wait', async () => {
  const dice = diceFor('rotated')
  run = await startWebhookWorld({ others: BY_STATUS })
  const hook = await run.openHook((_, attempt) => ({ status: attempt < 3 ? 503 : 200 }))
  const other = await run.openHook(hook.respond)
  const node = await run.start()
  const endpoint = endpointOf(run, run.account.id)
  await endpoint.put(node.client, hook.url)
  await run.work()
  const load = sendPaced(15, letters('rotated', 120, dice), () => node)
  for (const change of [() => endpoint.rotate(node.client), () => endpoint.put(node.client, other.url)]) {
    await letRun(2_000)
    await change()
  }
  await letRun(2_000)
  await endpoint.rotate(node.client)
  await load
  expect(await run.verdict()).toEqual([])
  expect([...dispatchesByState().keys()]).toEqual(['acknowledged'])
  const signatures = new Set(run.posts().map(({ headers }) => (headers['service-signature-previous'] ? 2 : 1)))
  expect(signatures).toEqual(new Set([1, 2]))
})

/** One account for each of these responses. */
const HOSTILE: ScriptedResponse[] = [
  { fault: 'hang' },
  { fault: 'drip_head' },
  { fault: 'drip_body' },
  { fault: 'endless_body' },
  { fault: 'endless_interim' },
  { fault: 'huge_head' },
  { fault: 'garbage' },
  { fault: 'reset' },
  { status: 301, headers: { location: 'http://127.0.0.1:1/' } },
  { status: 204 },
]

test('good receivers acknowledge every event at its first attempt within 5 s, beside hostile receivers of other accounts and of their own', async () => {
  const dice = diceFor('hostile')
  // Each attempt at a receiver that hangs takes 5 s.
  run = await startWebhookWorld({ scheduleMs: [0, 300], others: BY_STATUS })
  const node = await run.start()
  await run.work()
  const accounts = []
  for (const [i, response] of [...HOSTILE, {}, {}].entries()) {
    const domain = `account-${i}.test`
    const { id, key } = await run.openAccount(domain)
    const hook = await run.openHook(() => response)
    const client = createClient({ node: node.name, url: node.api.url, key, domain }, run.logs.requests)
    await endpointOf(run, id).put(client, hook.url)
    accounts.push({ client, hook })
    const others = run.webhooks.endpoints.filter((entry) => entry.account === id && entry.url !== hook.url)
    for (const { url } of others) run.hookAt(url!).respond = () => ({})
  }
  const hostileUrls = accounts.slice(0, HOSTILE.length).map(({ hook }) => hook.url)
  const goodEndpoints = run.webhooks.endpoints.filter(({ url }) => !hostileUrls.includes(url!))
  await Promise.all(
    accounts.map(({ client }, i) => sendPaced(2, letters(`hostile-${i}`, 10, dice), () => ({ ...node, client }))),
  )
  expect(await run.verdict()).toEqual([])
  const { dispatches, attempts } = run.logs.database.at(-1)!.webhooks!
  const goodIds = goodEndpoints.map(({ endpoint }) => endpoint)
  const goodDispatches = new Map(
    dispatches.filter(({ endpoint }) => goodIds.includes(endpoint)).map((row) => [row.id, row]),
  )
  const outcomes = attempts.filter(({ dispatch }) => goodDispatches.has(dispatch)).map(({ outcome }) => outcome)
  expect(new Set(outcomes)).toEqual(new Set(['acked']))
  const goodPosts = run.posts().filter(({ url }) => !hostileUrls.includes(url))
  expect(new Set(goodPosts.map(attemptOf))).toEqual(new Set([1]))
  const latenciesMs = goodPosts
    .map(({ headers, arrivedMs }) => arrivedMs - goodDispatches.get(headers['service-dispatch-id']!)!.createdMs)
    .sort((a, b) => a - b)
  const [median, p99] = [0.5, 0.99].map((part) => Math.round(latenciesMs[Math.floor(latenciesMs.length * part)]!))
  console.log('good receivers', { events: latenciesMs.length, median, p99 })
  expect(latenciesMs.length).toBe(goodDispatches.size)
  // None waited for a receiver that hangs, which takes 5 s.
  expect(latenciesMs.at(-1)).toBeLessThan(5_000)
  for (const { client } of accounts) client.close()
})
