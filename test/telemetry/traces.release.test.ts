import { randomBytes } from 'node:crypto'
import { createClient, type Transport } from '@connectrpc/connect'
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from '@connectrpc/connect-node'
import { Webhook } from 'standardwebhooks'
import { beforeAll, expect, test } from 'vitest'
import { EmailService } from '../../gen/verdict/v1/emails_pb.ts'
import { type Instance, startInstance } from '../e2e/instance.ts'
import { type Collector, type ReceivedSpan, startCollector } from '../harness/otlp/collector.ts'
import { type RunningProcess, startProgram, waitForOutput } from '../harness/process.ts'
import { type Receiver, startReceiver } from '../harness/receiver.ts'
import { startTemporal, type TestTemporal } from '../harness/temporal.ts'
import { atEnd, untilEnd } from '../harness/until-end.ts'
import { outlast } from '../harness/waits.ts'

// The API and the worker as separate processes, Temporal, and a collector that decodes what they export.

const CANARY = 'kanarienvogel'

let temporal: TestTemporal
let collector: Collector
let receiver: Receiver
let instance: Instance
let worker: RunningProcess
let secret: string
beforeAll(async () => {
  ;[temporal, collector, receiver] = await Promise.all([
    startTemporal().then(untilEnd),
    startCollector().then(untilEnd),
    startReceiver().then(untilEnd),
  ])
  const env = {
    TEMPORAL_ADDRESS: temporal.address,
    WEBHOOK_ALLOW_SUBNETS: '127.0.0.0/8',
    WEBHOOK_SCHEDULE: '0,100ms,100ms',
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    // Only the traces that a caller records.
    OTEL_TRACES_SAMPLER: 'parentbased_always_off',
  }
  instance = await startInstance(env)
  worker = startProgram(process.execPath, ['workflows/worker.ts'], { ...instance.environment, ...env })
  atEnd(() => worker.kill('SIGKILL'))
  await waitForOutput(worker, /"msg":"ready"/)
  const endpoint = await instance.put('/api/v1/webhook', JSON.stringify({ url: receiver.url }))
  secret = ((await endpoint.json()) as { secret: string }).secret
})

interface CallersTrace {
  traceId: string
  spanId: string
  traceparent: string
}

function newTrace(flags = '01'): CallersTrace {
  const [traceId, spanId] = [randomBytes(16).toString('hex'), randomBytes(8).toString('hex')]
  return { traceId, spanId, traceparent: `00-${traceId}-${spanId}-${flags}` }
}

const bearer = () => ({ authorization: `Bearer ${instance.key}` })
const over = (transport: (url: string) => Transport) => async (traceparent: string) => {
  const { url } = instance.api
  const mail = { to: ['delivered@simulator.test'], from: 'hello@example.test', subject: 'Hello', text: 'Hi' }
  await createClient(EmailService, transport(url)).send(mail, { headers: { ...bearer(), traceparent } })
}

/** A send with a header, on every protocol. */
const PROTOCOLS: [name: string, send: (traceparent: string) => Promise<unknown>][] = [
  ['REST', (traceparent) => instance.send({}, { traceparent })],
  ['gRPC', over((baseUrl) => createGrpcTransport({ baseUrl }))],
  ['gRPC-Web', over((baseUrl) => createGrpcWebTransport({ baseUrl, httpVersion: '1.1' }))],
  ['Connect', over((baseUrl) => createConnectTransport({ baseUrl, httpVersion: '1.1' }))],
]

const named = (spans: ReceivedSpan[], name: string) => spans.filter((span) => span.name === name)
const names = ({ traceId }: CallersTrace) => collector.of(traceId).map(({ name }) => name)
const attempts = ({ traceId }: CallersTrace) => named(collector.of(traceId), 'webhook attempt')
const outcomes = (trace: CallersTrace) =>
  attempts(trace)
    .toSorted((a, b) => a.startMs - b.startMs)
    .map(({ attributes }) => attributes['verdict.outcome'])
const posts = ({ traceId }: CallersTrace) =>
  receiver.requests.filter(({ headers }) => headers.traceparent?.includes(traceId))

/** Whether every span leads to the caller's by its parents. */
function isConnected({ traceId, spanId }: CallersTrace): boolean {
  const spans = collector.of(traceId)
  const ids = new Set([spanId, ...spans.map((span) => span.spanId)])
  return spans.every(({ parentSpanId }) => ids.has(parentSpanId))
}

const logged = (running: { stdout(): string }, { traceId }: CallersTrace, message: string) =>
  running
    .stdout()
    .split('\n')
    .filter((line) => line.includes(traceId) && line.includes(`"msg":"${message}"`))

test.for(PROTOCOLS)('%s: one trace from the request to the acknowledged webhook', async ([, send]) => {
  const trace = newTrace()
  await send(trace.traceparent)
  await expect.poll(() => outcomes(trace)).toEqual(['acked'])
  await expect.poll(() => names(trace)).toContain('verdict.v1.EmailService/Send')
  expect(names(trace)).toEqual(
    expect.arrayContaining(['check recipient_mx', 'claim', 'smtp', 'marker', 'smtp dot', 'record']),
  )
  expect(isConnected(trace)).toBe(true)
  const [request] = named(collector.of(trace.traceId), 'verdict.v1.EmailService/Send')
  expect(request).toMatchObject({
    service: 'verdict-api',
    parentSpanId: trace.spanId,
    failed: false,
    attributes: { 'verdict.code': 'ok', 'verdict.outcome': 'delivered' },
  })
  expect(named(collector.of(trace.traceId), 'smtp')[0]!.attributes).toMatchObject({ 'verdict.outcomes': ['delivered'] })

  const [post] = posts(trace)
  expect(post!.headers.traceparent).toBe(`00-${trace.traceId}-${attempts(trace)[0]!.spanId}-01`)
  expect(() => new Webhook(secret).verify(post!.body.toString(), post!.headers)).not.toThrow()
  await expect.poll(() => logged(instance.api, trace, 'request')).toHaveLength(1)
  await expect.poll(() => logged(instance.api, trace, 'webhook attempt')).toHaveLength(1)
})

test.for(PROTOCOLS.slice(0, 2))(
  '%s: one trace from the request over a first attempt that failed to the workflow whose attempt is acknowledged',
  async ([, send]) => {
    receiver.script = ({ headers }) => ({ status: headers['service-attempt'] === '1' ? 503 : 200 })
    const trace = newTrace()
    await send(trace.traceparent)
    await expect.poll(() => outcomes(trace)).toEqual(['not_200', 'acked'])
    const activity = 'RunActivity:attemptDispatches'
    await expect.poll(() => names(trace)).toEqual(expect.arrayContaining(['StartWorkflow:deliverWebhooks', activity]))
    await expect.poll(() => isConnected(trace)).toBe(true)
    const spans = collector.of(trace.traceId)
    const [start, run, retry] = ['StartWorkflow:deliverWebhooks', activity, 'webhook attempt'].map(
      (name) => named(spans, name).find(({ service }) => service === 'verdict-worker')!,
    )
    expect([run!.parentSpanId, retry!.parentSpanId]).toEqual([start!.spanId, run!.spanId])
    expect(
      attempts(trace)
        .map(({ failed }) => failed)
        .toSorted(),
    ).toEqual([false, true])
    expect(posts(trace).map(({ body }) => body.toString())).toEqual([
      posts(trace)[0]!.body.toString(),
      posts(trace)[0]!.body.toString(),
    ])
    await expect.poll(() => logged(worker, trace, 'webhook attempt')).toHaveLength(1)
    receiver.script = {}
  },
)

test('a replay is a new trace, which links to the request that asked for it', async () => {
  const original = newTrace()
  const { message_id } = (await (await instance.send({}, { traceparent: original.traceparent })).json()) as {
    message_id: string
  }
  const asking = newTrace()
  const replay = await instance.post(`/api/v1/messages/${message_id}/replay`, '{}', { traceparent: asking.traceparent })
  expect(replay.status).toBe(200)
  const linked = () =>
    collector.spans.find(({ name, links }) => name === 'replay' && links[0]?.traceId === asking.traceId)
  await expect.poll(linked).toBeDefined()
  const { traceId } = linked()!
  expect([original.traceId, asking.traceId]).not.toContain(traceId)
  const replayed = { ...asking, traceId }
  await expect.poll(() => outcomes(replayed)).toEqual(['acked'])
  expect(posts(replayed)).toHaveLength(1)
})

test('a batch has one span for each of its messages, and their events continue its trace', async () => {
  const trace = newTrace()
  const mail = { to: 'delivered@simulator.test', from: 'hello@example.test', subject: 'Hello', text: 'Hi' }
  await instance.post('/api/v1/emails/batch', JSON.stringify([mail, mail, mail]), { traceparent: trace.traceparent })
  await expect.poll(() => outcomes(trace)).toEqual(['acked', 'acked', 'acked'])
  await expect.poll(() => names(trace).filter((name) => name === 'send')).toHaveLength(3)
})

test('a trace that its caller does not record is not exported, but passed on with that decision', async () => {
  const trace = newTrace('00')
  await instance.send({}, { traceparent: trace.traceparent })
  await expect.poll(() => posts(trace)).toHaveLength(1)
  expect(posts(trace)[0]!.headers.traceparent).toMatch(/-00$/)
  await expect.poll(() => logged(instance.api, trace, 'request')).toHaveLength(1)
  expect(collector.of(trace.traceId)).toEqual([])
})

test('a caller without a key records nothing', async () => {
  const trace = newTrace()
  const response = await instance.send({}, { traceparent: trace.traceparent, authorization: 'Bearer svc_live_none' })
  expect(response.status).toBe(401)
  await expect.poll(() => logged(instance.api, trace, 'request')).toHaveLength(1)
  const later = newTrace()
  await instance.send({}, { traceparent: later.traceparent })
  await expect.poll(() => names(later)).toContain('verdict.v1.EmailService/Send')
  expect(collector.of(trace.traceId)).toEqual([])
})

test('no span says an address, a subject, a key or a secret', async () => {
  const trace = newTrace()
  const everything = {
    to: [`delivered+${CANARY}@simulator.test`, `${CANARY} <mailbox_full+${CANARY}@simulator.test>`],
    cc: `"${CANARY}, Ann" <cc+${CANARY}@simulator.test>`,
    from: `"${CANARY}" <${CANARY}@example.test>`,
    reply_to: `${CANARY}@example.test`,
    metadata: { [CANARY]: CANARY },
    tag: CANARY,
    subject: `Subject ${CANARY}`,
    html: `<p>${CANARY}</p>`,
    headers: { 'X-Canary': CANARY },
    tenant_id: CANARY,
  }
  const headers = { traceparent: trace.traceparent, 'idempotency-key': CANARY, 'x-request-id': CANARY }
  receiver.script = ({ headers }) => ({ status: headers['service-attempt'] === '1' ? 503 : 200, body: CANARY })
  expect((await instance.send(everything, headers)).status).toBe(200)
  await expect.poll(() => outcomes(trace).filter((outcome) => outcome === 'acked')).toHaveLength(3)
  const refused = newTrace()
  const unreadable = { traceparent: refused.traceparent }
  expect((await instance.send({ subject: `${CANARY}\r\n` }, unreadable)).status).toBe(400)
  await expect.poll(() => names(refused)).toContain('verdict.v1.EmailService/Send')
  receiver.script = {}
  const exported = collector.spans.map(({ text }) => text).join('\n')
  expect(exported.length).toBeGreaterThan(10_000)
  for (const hidden of [CANARY, '@', instance.key, secret, receiver.url]) expect(exported).not.toContain(hidden)
})

test('a collector that refuses is told once in the log, and harms neither sends nor the end of the process', async () => {
  collector.status = 400
  const failures = () => instance.api.stdout().match(/traces cannot be exported/g)?.length
  for (let round = 0; round < 3; round++) {
    const { traceparent } = newTrace()
    expect((await instance.send({}, { traceparent })).status).toBe(200)
    await outlast(1_200)
  }
  // The thread of first attempts exports its own spans and logs its own line.
  await expect.poll(failures).toBe(2)
  collector.close()
  const plain = await startInstance()
  await Promise.all([instance, plain].map(({ send }) => send({}, { traceparent: newTrace().traceparent })))
  const [endMs, plainEndMs] = await Promise.all([endOf(instance), endOf(plain)])
  console.log(`the end takes ${Math.round(endMs)} ms, without traces ${Math.round(plainEndMs)} ms`)
  // Two threads wait up to 3 s each. A busy machine is slow without traces, too.
  expect(endMs).toBeLessThan(3 * plainEndMs + 10_000)
  expect(instance.api.stdout()).toContain('"msg":"drained"')
})

/** The milliseconds from SIGTERM to the end of the process. */
async function endOf({ api }: Instance): Promise<number> {
  const startedMs = performance.now()
  expect(await api.kill('SIGTERM')).toBe(0)
  return performance.now() - startedMs
}
