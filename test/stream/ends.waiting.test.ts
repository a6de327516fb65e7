import { Code, ConnectError, createClient } from '@connectrpc/connect'
import { createGrpcTransport } from '@connectrpc/connect-node'
import { expect, onTestFinished, test } from 'vitest'
import { EventService, type StreamEventsRequest } from '../../gen/verdict/v1/events_pb.ts'
import { letArrive, outlast } from '../harness/waits.ts'
import { type Api, startApi } from '../services/api.ts'

async function openStream(api: Api, request: Partial<StreamEventsRequest> = { after: 'begin' }) {
  const transport = createGrpcTransport({ baseUrl: api.url })
  const ended = new AbortController()
  onTestFinished(() => ended.abort())
  const headers = { authorization: `Bearer ${api.keys.live}` }
  const messages = createClient(EventService, transport).streamEvents(request, { headers, signal: ended.signal })
  const iterator = messages[Symbol.asyncIterator]()
  return { next: async () => (await iterator.next()).value }
}

const failure = (call: Promise<unknown>) => call.then(undefined, (error) => ConnectError.from(error))

test('a shutdown ends streams and waits at once, with the last position', async () => {
  const api = await startApi()
  const { next } = await openStream(api)
  await api.send()
  await next()
  const { position } = await next()
  const waited = api.call('GET', `/api/v1/events/changes?after=${position}&wait_s=20`)
  // The call waits when it has read the events that are there.
  await letArrive(500)
  const startMs = performance.now()
  const stopped = api.stop()
  expect(await next()).toMatchObject({ events: [], position })
  expect(await failure(next())).toMatchObject({ code: Code.Unavailable })
  expect((await waited).json).toEqual({ events: [], position, has_more: false })
  // Far less than the 20 s that the call may wait.
  expect(performance.now() - startMs).toBeLessThan(3_000)
  await stopped
})

test('a stream whose filter matches nothing gets a heartbeat with its position within 15 seconds, as an idle one', async () => {
  const api = await startApi()
  const { next } = await openStream(api, { tag: 'nothing' })
  const { position: start } = await next()
  const startMs = performance.now()
  // An event that does not match puts the heartbeat off by nothing, however late it comes.
  await outlast(8_000)
  await api.send()
  const { events, position } = await next()
  // The promised time.
  expect(performance.now() - startMs).toBeLessThan(15_000)
  expect(events).toEqual([])
  // It has passed the event.
  expect(position).not.toBe(start)
  const { json } = await api.call('GET', `/api/v1/events/changes?after=${position}`)
  expect(json.events).toEqual([])
}, 30_000)
