import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { expect, inject, test } from 'vitest'
import { newId, publicId } from '../../server/db/ids.ts'
import { startTemporal } from '../harness/temporal.ts'
import { words } from '../harness/text.ts'
import { untilEnd } from '../harness/until-end.ts'
import { acked, createWorkflowWorld, http, until, waitsFor } from './world.ts'

// What an operator sees of a delivery in Temporal's UI, read through the HTTP API that the UI itself uses.

const eventIds = [newId(Date.now()), newId(Date.now())]
const messageIds = [newId(Date.now()), newId(Date.now())]
const [accountId, endpointId] = [newId(Date.now()), newId(Date.now())]
const temporal = untilEnd(await startTemporal())
const world = untilEnd(await createWorkflowWorld(temporal.address, inject('workflowBundle')))
const waiting = await world.deliver(({ number }) => http(number === 1 ? 500 : 503), {
  dispatches: 2,
  scheduleMs: [0, 10, 3_600_000, 1, 1, 1],
  each: eventIds.map((eventId, i) => ({
    ...{ eventId, messageId: messageIds[i]! },
    ...(i === 0 && { previousResult: { outcome: 'connect' } }),
  })),
  accountId,
  endpointId,
  endpointHost: 'hooks.example.com',
})
await waitsFor(waiting, 3)

async function ui(path: string, init?: RequestInit) {
  const response = await fetch(`${temporal.uiUrl}/api/v1/namespaces/default/${path}`, init)
  expect(response.status).toBe(200)
  // biome-ignore lint/suspicious/noExplicitAny: the UI's own, undescribed JSON
  return response.json() as Promise<any>
}

const text = (payload: { data: string } | undefined) =>
  payload && JSON.parse(Buffer.from(payload.data, 'base64').toString())

async function found(query: string): Promise<string[]> {
  const { executions = [] } = await ui(`workflows?query=${encodeURIComponent(query)}`)
  return executions.map(({ execution }: { execution: { workflowId: string } }) => execution.workflowId)
}

test('a search for its endpoint, its status, and each of its events and messages finds a delivery that waits', async () => {
  const { workflowId } = waiting
  await until(async () => (await found("DeliveryStatus = 'waiting'")).includes(workflowId))
  expect(await found("WebhookEndpoint = 'hooks.example.com'")).toEqual([workflowId])
  for (const id of eventIds) expect(await found(`EventIds = '${publicId('evt', id)}'`)).toEqual([workflowId])
  expect(await found(`MessageIds = '${publicId('msg', messageIds[0]!)}'`)).toEqual([workflowId])
})

test('a delivery is found by its account, endpoint, kind and attempt, and its memo names events and messages', async () => {
  const { workflowId } = waiting
  await until(async () => (await found('AttemptNumber = 2')).includes(workflowId))
  expect(await found(`AccountId = '${publicId('acc', accountId)}'`)).toEqual([workflowId])
  expect(await found(`EndpointId = '${publicId('whk', endpointId)}' and DispatchKind = 'original'`)).toEqual([
    workflowId,
  ])
  const { workflowExecutionInfo } = await ui(`workflows/${workflowId}`)
  const { events, messages } = workflowExecutionInfo.memo.fields
  expect(text(events)).toEqual(eventIds.map((id) => publicId('evt', id)))
  expect(text(messages)).toEqual(messageIds.map((id) => publicId('msg', id)))
})

test('the status of a delivery that is over is the worst end of its dispatches', async () => {
  const ends = {
    acknowledged: await world.deliver(() => acked, { dispatches: 2 }),
    exhausted: await world.deliver(({ index }) => (index === 0 ? acked : http(503)), {
      dispatches: 2,
      scheduleMs: [0],
    }),
    cancelled: await world.deliver(() => http(503), { scheduleMs: [0, 3_600_000] }),
  }
  await ends.cancelled.handle.signal('cancel')
  for (const [status, { workflowId, handle }] of Object.entries(ends)) {
    await handle.result().catch((error) => expect(error.cause.type).toBe('WebhookExhausted'))
    await until(async () => (await found(`DeliveryStatus = '${status}'`)).includes(workflowId))
  }
})

test('the command of the guide finds the delivery of a message', async () => {
  const server = inject('temporal') as { program: string }
  const [, query] = /`temporal workflow list --query "(.*)"`/.exec(readFileSync('docs/webhooks.md', 'utf8'))!
  const ofMessage = query!.replace('msg_...', publicId('msg', messageIds[0]!))
  const list = ['workflow', 'list', '--address', temporal.address, '--query', ofMessage]
  const { stdout } = await promisify(execFile)(server.program, list)
  expect(stdout).toContain(waiting.workflowId)
})

test('its timers and attempts name the next attempt and the last response', async () => {
  const { history } = await ui(`workflows/${waiting.workflowId}/history?maximumPageSize=100`)
  const summaries = history.events.map((event: { userMetadata?: { summary?: { data: string } } }) =>
    text(event.userMetadata?.summary),
  )
  expect(summaries.filter(Boolean)).toEqual([
    '2 events to hooks.example.com',
    'attempt 1 of 6 for 2 dispatches',
    'attempt 2 of 6, last answer HTTP 500',
    'attempt 2 of 6 for 2 dispatches',
    'attempt 3 of 6, last answer HTTP 503',
  ])
})

test('its details name the next attempt, its time, and the last response', async () => {
  const { headers } = await fetch(temporal.uiUrl)
  const cookie = headers.getSetCookie()[0]!.split(';')[0]!
  const { queryResult } = await ui(`workflows/${waiting.workflowId}/query/__temporal_workflow_metadata`, {
    method: 'POST',
    headers: { cookie, 'x-csrf-token': cookie.replace('_csrf=', ''), 'content-type': 'application/json' },
    body: JSON.stringify({ query: { queryType: '__temporal_workflow_metadata' } }),
  })
  const details: string = text(queryResult.payloads[0]).currentDetails
  for (const [i, id] of eventIds.entries()) {
    const ids = `${publicId('evt', id)} | ${publicId('msg', messageIds[i]!)}`
    expect(details).toMatch(
      new RegExp(`\\| waiting \\| HTTP 503 \\| attempt 3 at [^|]+ UTC \\| ${ids.replace('|', '\\|')} \\|`),
    )
  }
  expect(details).toMatch(
    /^\*\*Not delivered yet\.\*\* Last response of the endpoint: HTTP 503\. Next:\n\n- attempt 3 of 6 for 2 dispatches comes at \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC\n\n\|/,
  )
})

test('a history holds nothing personal: only ids, times, a host name and counts', async () => {
  const { history } = await ui(`workflows/${waiting.workflowId}/history?maximumPageSize=100`)
  const [{ workflowExecutionStartedEventAttributes: started }] = history.events
  const input = text(started.input.payloads[0])
  expect(Object.keys(input).toSorted()).toEqual(
    words(`
    account deadlineMs deadlines endpoint lastAnswer progress rounds scheduleMs subjects
  `),
  )
  expect(input.subjects[waiting.publicIds[0]!]).toEqual({
    event: publicId('evt', eventIds[0]!),
    message: publicId('msg', messageIds[0]!),
  })
  expect(input.rounds[0].dispatchIds).toEqual(waiting.publicIds)
  expect(input.lastAnswer).toBe('no connection')
  expect(input.progress).toEqual({ [waiting.publicIds[0]!]: { status: 'waiting', lastResponse: 'no connection' } })
})
