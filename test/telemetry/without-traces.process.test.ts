import { expect, test } from 'vitest'
import { startInstance } from '../e2e/instance.ts'
import { startReceiver } from '../harness/receiver.ts'
import { untilEnd } from '../harness/until-end.ts'

/** Prints every package of OpenTelemetry that the process loads, in any of its threads. */
const WATCH = `data:text/javascript,${encodeURIComponent(`
  import { registerHooks } from 'node:module'
  registerHooks({
    resolve(specifier, context, next) {
      if (/opentelemetry/.test(specifier)) console.error('LOADED ' + specifier)
      return next(specifier, context)
    },
  })`)}`

const TRACEPARENT = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'

async function start(env: NodeJS.ProcessEnv = {}) {
  const receiver = untilEnd(await startReceiver())
  const instance = await startInstance({
    WEBHOOK_ALLOW_SUBNETS: '127.0.0.0/8',
    NODE_OPTIONS: `--import=${WATCH}`,
    ...env,
  })
  expect((await instance.put('/api/v1/webhook', JSON.stringify({ url: receiver.url }))).status).toBe(200)
  return { receiver, instance, loaded: () => instance.api.stderr().match(/LOADED .*/g) ?? [] }
}

test('without an endpoint for traces nothing of OpenTelemetry is loaded, and a traceparent is passed on as it came', async () => {
  const { receiver, instance, loaded } = await start()
  expect((await instance.send({}, { traceparent: TRACEPARENT })).status).toBe(200)
  expect((await instance.send()).status).toBe(200)
  await expect.poll(() => receiver.requests.length).toBe(2)
  expect(receiver.requests.map(({ headers }) => headers.traceparent).toSorted()).toEqual([TRACEPARENT, undefined])
  const traceId = TRACEPARENT.slice(3, 35)
  const lines = () => instance.api.stdout().match(new RegExp(`"trace_id":"${traceId}"`, 'g'))
  await expect.poll(lines).toHaveLength(2)
  expect(loaded().filter((line) => /sdk-trace|exporter-trace|interceptors/.test(line))).toEqual([])
})

test('an invalid traceparent is ignored on a send', async () => {
  const { receiver, instance } = await start()
  expect((await instance.send({}, { traceparent: `00-${'0'.repeat(32)}-00f067aa0ba902b7-01` })).status).toBe(200)
  await expect.poll(() => receiver.requests.length).toBe(1)
  expect(receiver.requests[0]!.headers.traceparent).toBeUndefined()
})

test('with an endpoint for traces it is loaded', async () => {
  const { loaded } = await start({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' })
  expect(loaded().some((line) => line.includes('@opentelemetry/sdk-trace'))).toBe(true)
})
