import { beforeEach, expect, test } from 'vitest'
import { createCall } from '../../client/call.ts'
import { Verdict, VerdictError } from '../../client/verdict.ts'
import { type ScriptedResponse, startReceiver } from '../harness/receiver.ts'
import { untilEnd } from '../harness/until-end.ts'

// What the client retries, against a server whose responses the test sets.

const service = untilEnd(await startReceiver())
beforeEach(() => {
  service.requests.length = 0
  pauses.length = 0
})

/** The pauses that a call asked for, in milliseconds. None is waited for. */
const pauses: number[] = []
const connection = () => ({
  url: new URL(service.url).origin,
  apiKey: 'svc_live_key',
  timeoutMs: 60_000,
  maxRetries: 2,
  pause: async (ms: number) => void pauses.push(ms),
})

const json = (status: number, body: object): ScriptedResponse => ({
  status,
  body: JSON.stringify(body),
  headers: { 'content-type': 'application/json' },
})
const error = (status: number, code: string, more = {}) => json(status, { error: code, message: code, ...more })
const SENT = json(200, { status: 'delivered', message_id: 'msg_1' })

/** Responds with these in turn, and with the last of them to everything after. */
function respond(...responses: ScriptedResponse[]): void {
  service.script = () => responses[Math.min(service.requests.length, responses.length) - 1]!
}

const MESSAGE = { from: 'a@example.com', to: 'b@example.com', subject: 'Hello', text: 'Hi' }
const send = (options = {}) => createCall(connection())('sendEmail', { body: MESSAGE }, options)
const replay = () => createCall(connection())('replayEvent', { path: { event_id: 'evt_1' }, body: {} })
const read = () => createCall(connection())('getLimits', {})
const faultOf = (call: Promise<unknown>): Promise<VerdictError> =>
  call.then(
    () => expect.unreachable(),
    (error) => error,
  )
const keys = () => service.requests.map(({ headers }) => headers['idempotency-key'])

test.each<[string, ScriptedResponse]>([
  ['429', error(429, 'rate_limit_exceeded')],
  ['transient_failure', error(500, 'transient_failure')],
  ['a reset connection', { fault: 'reset' }],
  ['a connection closed without a response', { fault: 'close' }],
  ['a response that ends too early', { fault: 'short_body' }],
  ["a proxy's 502", { status: 502, body: '<html>Bad gateway</html>' }],
])('after %s a send is retried with the same key', async (_, fault) => {
  respond(fault, fault, SENT)
  expect(await send()).toEqual({ status: 'delivered', message_id: 'msg_1' })
  expect(service.requests).toHaveLength(3)
  expect(new Set(keys()).size).toBe(1)
  expect(keys()[0]).toMatch(/^[0-9a-f-]{36}$/)
  expect(pauses.map((ms) => ms >= 500 && ms <= 2_000)).toEqual([true, true])
})

test("a caller's own key is used for every attempt", async () => {
  respond(error(500, 'transient_failure'), SENT)
  await send({ idempotencyKey: 'order-1' })
  expect(keys()).toEqual(['order-1', 'order-1'])
})

test('a key that no header can carry is an error of the caller, at once', async () => {
  expect(await faultOf(send({ idempotencyKey: 'ключ' }))).toBeInstanceOf(TypeError)
  expect([service.requests, pauses]).toEqual([[], []])
})

test('each call makes a key of its own', async () => {
  respond(SENT)
  await send()
  await send()
  expect(new Set(keys()).size).toBe(2)
})

test.each([
  [400, 'invalid_payload'],
  [401, 'invalid_api_key'],
  [403, 'domain_not_verified'],
  [404, 'not_found'],
  [410, 'event_expired'],
  [418, 'a_code_of_a_later_version'],
])('%i %s is not retried', async (status, code) => {
  respond(error(status, code, { request_id: 'r1' }))
  expect(await faultOf(send())).toMatchObject({ code, status, requestId: 'r1' })
  expect(service.requests).toHaveLength(1)
})

test('retries end, and the error has the key of all attempts', async () => {
  respond({ fault: 'reset' })
  const fault = await faultOf(send())
  expect(fault).toBeInstanceOf(VerdictError)
  expect(fault).toMatchObject({ code: 'connection_failed', status: undefined, cause: expect.any(Error) })
  expect(keys()).toEqual([fault.idempotencyKey, fault.idempotencyKey, fault.idempotencyKey])
})

test('an error without a response says what the connection failed with', async () => {
  const closed = await startReceiver()
  await closed.close()
  const { host, port } = new URL(closed.url)
  for (const url of [`http://${host}`, `http://localhost:${port}`]) {
    const { message } = await faultOf(createCall({ ...connection(), url, maxRetries: 0 })('getLimits', {}))
    expect(message).toMatch(new RegExp(`^no response from ${url}: .*ECONNREFUSED`))
  }
})

test('a response says whether its key was used before, and with another body', async () => {
  respond(SENT)
  expect(await send()).not.toHaveProperty('replayed')
  respond({ ...SENT, headers: { ...SENT.headers, 'idempotent-replayed': 'true' } })
  expect(await send()).toEqual({ status: 'delivered', message_id: 'msg_1', replayed: true })
  respond({ ...SENT, headers: { ...SENT.headers, 'idempotent-replayed': 'true', 'idempotency-mismatch': 'body' } })
  expect(await send()).toEqual({ status: 'delivered', message_id: 'msg_1', replayed: true, mismatch: true })
})

test('a batch takes a list', async () => {
  const { url, apiKey } = connection()
  const fault = await faultOf(new Verdict({ url, apiKey }).emails.batch({ emails: [MESSAGE] } as never))
  expect(fault.message).toBe('messages: must be a list, as in batch([first, second])')
  expect(service.requests).toEqual([])
})

test('after a network fault a call is retried only when it may run twice', async () => {
  respond({ fault: 'reset' })
  expect(await faultOf(replay())).toMatchObject({ code: 'connection_failed', idempotencyKey: undefined })
  expect(service.requests).toHaveLength(1)
  await faultOf(read())
  expect(service.requests).toHaveLength(4)
})

test('a call that the service did not run is retried whatever it does', async () => {
  respond(error(429, 'rate_limit_exceeded'), error(500, 'transient_failure'), json(200, { replayed: true }))
  expect(await replay()).toEqual({ replayed: true })
})

test('the pause is at least what the service asks for', async () => {
  respond(error(429, 'rate_limit_exceeded', { retry_after: 12 }), SENT)
  await send()
  service.requests.length = 0
  respond({ status: 503, headers: { 'retry-after': '7' } }, SENT)
  await send()
  expect(pauses).toEqual([12_000, 7_000])
})

test('a wait for the end of the day is left to the caller', async () => {
  respond(error(429, 'rate_limit_exceeded', { retry_after: 3_600 }))
  expect(await faultOf(send())).toMatchObject({ code: 'rate_limit_exceeded', status: 429, retryAfter: 3_600 })
  expect([service.requests.length, pauses]).toEqual([1, []])
})

test.each([{ fault: 'hang' as const }, { fault: 'drip_body' as const }])(
  'an attempt ends at its time limit: $fault',
  async (script) => {
    respond(script)
    const fault = await faultOf(send({ timeoutMs: 50, maxRetries: 1 }))
    expect(fault).toMatchObject({ code: 'timed_out', message: 'no response within 50 ms' })
    expect(pauses).toHaveLength(1)
  },
)

test('a signal ends a call with its reason, while it waits for a response or before a retry', async () => {
  const reason = new Error('the user left')
  respond({ fault: 'hang' })
  // A request that an earlier test gave up may arrive late, so these are counted by their key.
  const count = (key: string) => keys().filter((sent) => sent === key).length
  const leaves = new AbortController()
  const call = send({ signal: leaves.signal, idempotencyKey: 'leaves' })
  await expect.poll(() => count('leaves')).toBe(1)
  leaves.abort(reason)
  expect(await faultOf(call)).toBe(reason)
  expect(await faultOf(send({ signal: AbortSignal.abort(reason) }))).toBe(reason)

  respond(error(429, 'rate_limit_exceeded', { retry_after: 30 }))
  const { url, apiKey } = connection()
  const waits = new AbortController()
  const waiting = new Verdict({ url, apiKey }).emails.send(MESSAGE, { signal: waits.signal, idempotencyKey: 'waits' })
  await expect.poll(() => count('waits')).toBe(1)
  setTimeout(() => waits.abort(reason), 20)
  expect(await faultOf(waiting)).toBe(reason)
  expect(count('waits')).toBe(1)
})

test('a redirect is not followed: the key goes to no other host', async () => {
  respond({ status: 307, headers: { location: 'http://127.0.0.1:9/' } })
  expect(await faultOf(send())).toMatchObject({ code: 'unexpected_response', status: 307 })
})

test.each([
  ['text', { status: 200, body: 'Welcome' }],
  ['nothing', { status: 200, body: '' }],
])('a 200 with %s is not a response of the service', async (_, response) => {
  respond(response)
  expect(await faultOf(send())).toMatchObject({ code: 'unexpected_response', status: 200 })
})

test('a new secret is asked for once: a second request would end the one before it', async () => {
  respond(error(500, 'transient_failure'))
  const { url, apiKey } = connection()
  const { webhook } = new Verdict({ url, apiKey })
  expect(await faultOf(webhook.rotateSecret())).toMatchObject({ code: 'transient_failure' })
  expect(service.requests).toHaveLength(1)
})

test('the URL may have a path and a slash at its end', async () => {
  respond(json(200, {}))
  const { apiKey } = connection()
  await new Verdict({ url: `${new URL(service.url).origin}/mail/`, apiKey }).suppression.remove('a+b@example.com', {
    tenant_id: 'a&b',
  })
  expect(service.requests[0]).toMatchObject({
    method: 'DELETE',
    path: '/mail/api/v1/suppression/a%2Bb%40example.com?tenant_id=a%26b',
    headers: { authorization: 'Bearer svc_live_key' },
  })
})
