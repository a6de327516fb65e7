import { Code, ConnectError, createClient } from '@connectrpc/connect'
import { createGrpcTransport } from '@connectrpc/connect-node'
import { expect, onTestFinished, test } from 'vitest'
import { EventService } from '../../gen/verdict/v1/events_pb.ts'
import { letArrive } from '../harness/waits.ts'
import { startApi } from '../services/api.ts'

async function openStream(after = 'begin') {
  const api = await startApi()
  const transport = createGrpcTransport({ baseUrl: api.url })
  const ended = new AbortController()
  onTestFinished(() => ended.abort())
  const headers = { authorization: `Bearer ${api.keys.live}` }
  const messages = createClient(EventService, transport).streamEvents({ after }, { headers, signal: ended.signal })
  const iterator = messages[Symbol.asyncIterator]()
  return { api, next: async () => (await iterator.next()).value }
}

const failure = (call: Promise<unknown>) => call.then(undefined, (error) => ConnectError.from(error))

test('a shutdown ends streams and waits at once, with the last position', async () => {
  const { api, next } = await openStream()
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

test('an idle stream gets a heartbeat with its position within 15 seconds', async () => {
  const { api, next } = await openStream()
  onTestFinished(() => api.stop())
  const { position } = await next()
  const startMs = performance.now()
  expect(await next()).toMatchObject({ events: [], position })
  // The promised time.
  expect(performance.now() - startMs).toBeLessThan(15_000)
}, 30_000)
