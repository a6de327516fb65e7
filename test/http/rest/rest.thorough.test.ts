import { once } from 'node:events'
import { connect } from 'node:http2'
import { expect, test } from 'vitest'
import { requestIdKey } from '../../../server/caller.ts'
import { type ErrorReason, fail, PUBLIC_ERRORS } from '../../../server/errors.ts'
import { cpuStopwatch } from '../../harness/stopwatch.ts'
import { untilEnd } from '../../harness/until-end.ts'
import { ADDRESS_RATE, CALLER, KEY, startGateway } from '../gateway.ts'
import { RATE } from '../memory-services.ts'
import { ask, MAIL, send } from '../requests.ts'
import { EVENT_ID, MESSAGE_ID } from '../resources.ts'

const gateway = untilEnd(await startGateway())
const url = gateway.url

const fieldsOf = ({ json }: { json: { details?: { field: string }[] } }) => json.details?.map(({ field }) => field)

test('a send returns the verdict in snake_case and lower-case names', async () => {
  const { status, json, headers } = await send(url, MAIL)
  expect(status).toBe(200)
  expect(json).toEqual({
    status: 'delivered',
    message_id: MESSAGE_ID,
    smtp: { mx: 'mx.example.test', code: 250, phase: 'dot', tls: null, duration_ms: 12 },
  })
  expect(headers.get('content-type')).toBe('application/json; charset=utf-8')
})

test('"to" may be one address or a list', async () => {
  await send(url, MAIL)
  expect(gateway.sent.at(-1)?.to).toEqual(['ada@recipient.test'])
  await send(url, { ...MAIL, to: ['a@b.test', 'c@d.test'] })
  expect(gateway.sent.at(-1)?.to).toEqual(['a@b.test', 'c@d.test'])
})

test('a stored email has camelCase timestamps, always with milliseconds, and its empty lists', async () => {
  const { json } = await ask(url, `/api/v1/emails/${MESSAGE_ID}`)
  expect(json).toEqual({
    message_id: MESSAGE_ID,
    status: 'delivered',
    from: 'shop@example.test',
    to: ['ada@recipient.test'],
    subject: 'Hello',
    headers: {},
    sandbox: false,
    size_bytes: 0,
    attachments: [],
    recipients: [],
    events: [],
    createdAt: '2026-01-31T12:00:00.000Z',
    completedAt: '2026-01-31T12:00:00.005Z',
    expiresAt: '2026-05-01T12:00:00.000Z',
    feedback: [],
  })
})

test.each([
  ['a number for a text', { ...MAIL, subject: 1 }, ['subject']],
  ['a number in a list of texts', { ...MAIL, to: ['a@b.test', 2] }, ['to[1]']],
  ['a text for a list', { ...MAIL, attachments: 'x' }, ['attachments']],
  ['a list for an object', { ...MAIL, headers: ['x'] }, ['headers']],
  ['a number in a map', { ...MAIL, headers: { 'X-A': 1 } }, ['headers["X-A"]']],
  ['null in a list', { ...MAIL, to: [null] }, ['to[0]']],
  ['an unknown field', { ...MAIL, replyto: 'a@b.test' }, ['replyto']],
  ['an unknown field further in', { ...MAIL, attachments: [{ file_name: 'x' }] }, ['attachments[0].file_name']],
  ['the camelCase of a field', { ...MAIL, replyTo: 'a@b.test' }, ['replyTo']],
  ['bad base64', { ...MAIL, attachments: [{ filename: 'a', content: 'AA A=' }] }, ['attachments[0].content']],
  [
    'base64 of impossible length',
    { ...MAIL, attachments: [{ filename: 'a', content: 'AAAAA' }] },
    ['attachments[0].content'],
  ],
  ['wrong padding', { ...MAIL, attachments: [{ filename: 'a', content: 'AA=' }] }, ['attachments[0].content']],
  ['a NUL character', { ...MAIL, subject: 'a\0b' }, ['subject']],
  ['a NUL character in a list', { ...MAIL, to: ['a@b.test', 'a\0'] }, ['to[1]']],
  ['a NUL character in a name', { ...MAIL, headers: { 'X\0': 'a' } }, ['headers']],
  ['several faults at once', { to: 1, from: 2, subject: 3, nope: 4 }, ['to', 'from', 'subject', 'nope']],
])('%s is a 400 that names the field', async (_, body, fields) => {
  const before = gateway.sent.length
  const response = await send(url, body)
  expect([response.status, response.json.error, fieldsOf(response)]).toEqual([400, 'invalid_payload', fields])
  expect(gateway.sent.length).toBe(before)
})

test('half of a surrogate pair is a 400 that names the field', async () => {
  const response = await send(url, `{"to":"a@b.test","from":"c@d.test","text":"t","subject":"\\ud800"}`)
  expect([response.status, fieldsOf(response)]).toEqual([400, ['subject']])
})

test.each([
  ['', 'no body at all'],
  ['{}', 'an empty object'],
])('%j reaches the service, which knows the required fields', async (body) => {
  expect((await send(url, body)).status).toBe(200)
  expect(gateway.sent.at(-1)?.to).toEqual([])
})

test.each([
  ['[]', 'The body must be a JSON object. Send a list to /api/v1/emails/batch.'],
  ['null', 'The body must be a JSON object.'],
  ['"a"', 'The body must be a JSON object.'],
  ['{"to":"a@b.test",}', 'The body is not valid JSON: line 1, column 18; a name in double quotes is expected there.'],
  ['{"to":\n  [1,}', 'The body is not valid JSON: line 2, column 6; a value is expected there.'],
  ['{"to":"a', 'The body is not valid JSON: line 1, column 7; a value is expected there.'],
  ['{"to":', 'The body is not valid JSON: line 1, column 7; it ends too early.'],
  ['{} {}', 'The body is not valid JSON: line 1, column 4; nothing more is expected there.'],
  ["{'to':1}", 'The body is not valid JSON: line 1, column 2; a name in double quotes or "}" is expected there.'],
  [
    '{"subject":"a","subject":"b"}',
    'The body has the name "subject" twice (line 1, column 16) in one object. Send each name once.',
  ],
  ['{"a":01}', 'The body is not valid JSON: line 1, column 6; a value is expected there.'],
])('malformed JSON %j is a 400 that says where', async (body, message) => {
  const response = await send(url, body)
  expect([response.status, response.json.message]).toEqual([400, message])
})

test('a body that is not UTF-8 is a 400', async () => {
  const response = await send(url, Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]))
  expect([response.status, response.json.message]).toEqual([400, 'The body is not UTF-8.'])
})

test.each([
  ['standard, padded', '+/8='],
  ['standard, bare', '+/8'],
  ['URL alphabet, padded', '-_8='],
  ['URL alphabet, bare', '-_8'],
])('base64 may be %s', async (_, content) => {
  await send(url, { ...MAIL, attachments: [{ filename: 'a.txt', content }] })
  expect([...gateway.sent.at(-1)!.attachments[0]!.content!]).toEqual([0xfb, 0xff])
})

test('"__proto__" is a header name like any other, and a field like no other', async () => {
  expect((await send(url, `{"to":"a@b.test","headers":{"__proto__":"x"}}`)).status).toBe(200)
  expect(Object.entries(gateway.sent.at(-1)!.headers)).toEqual([['__proto__', 'x']])
  expect(fieldsOf(await send(url, `{"__proto__":{"to":"a@b.test"}}`))).toEqual(['__proto__'])
})

test.each([
  ['application/json', 200],
  ['application/json; charset=utf-8', 200],
  ['Application/JSON;charset="UTF-8"', 200],
  ['application/json; charset=utf-16', 415],
  ['text/plain', 415],
  ['application/x-www-form-urlencoded', 415],
  ['application/jsonp', 415],
  ['; charset=utf-8', 415],
])('a body of type %j is a %i', async (type, status) => {
  expect((await send(url, MAIL, { 'content-type': type })).status).toBe(status)
})

test('a body without a Content-Type is read as JSON', async () => {
  const response = await ask(url, '/api/v1/emails/send', { method: 'POST', body: Buffer.from(JSON.stringify(MAIL)) })
  expect(response.status).toBe(200)
})

test('a POST without a body may name any type: some HTTP libraries name that of a form', async () => {
  const path = `/api/v1/events/${EVENT_ID}/replay`
  for (const type of ['application/x-www-form-urlencoded', 'text/plain', 'application/json']) {
    const headers = { 'content-type': type }
    expect((await ask(url, path, { method: 'POST', headers })).status).toBe(200)
    expect((await ask(url, path, { method: 'POST', headers, body: '' })).status).toBe(200)
    const session = connect(url)
    const authorization = `Bearer ${KEY}`
    const stream = session.request({ ':method': 'POST', ':path': path, authorization, ...headers }, { endStream: true })
    const [head] = await once(stream, 'response')
    session.close()
    expect(head[':status']).toBe(200)
  }
  const form = { 'content-type': 'application/x-www-form-urlencoded' }
  expect((await ask(url, path, { method: 'POST', headers: form, body: 'a=b' })).status).toBe(415)
})

test('a compressed body is a 415', async () => {
  expect((await send(url, MAIL, { 'content-encoding': 'gzip' })).status).toBe(415)
  for (const encoding of ['identity', 'Identity'])
    expect((await send(url, MAIL, { 'content-encoding': encoding })).status).toBe(200)
})

test.each([
  ['/api/v1/emails/send/', '/api/v1/emails/send'],
  ['//api/v1/emails/send', '/api/v1/emails/send'],
  ['/api//v1/emails//send/?a=b', '/api/v1/emails/send'],
  ['/api/v1/emails/', '/api/v1/emails'],
  [`/api/v1/emails/${MESSAGE_ID}/`, `/api/v1/emails/${MESSAGE_ID}`],
  [`/api/v1//emails/${MESSAGE_ID}`, `/api/v1/emails/${MESSAGE_ID}`],
  ['/healthz/', '/healthz'],
])('%s is a 404 that names %s', async (path, meant) => {
  for (const method of ['GET', 'POST', 'DELETE']) {
    const { status, json } = await ask(url, path, { method })
    expect([status, json.message]).toEqual([404, `There is nothing at this path. Did you mean ${meant}?`])
  }
})

test('a path that is nothing without its slashes either names none', async () => {
  for (const path of ['/nothing/', '//nothing', '/api/v1/emails/a/b/'])
    expect((await ask(url, path)).json.message).toBe('There is nothing at this path. See /docs for those there are.')
})

test('query parameters reach the service with their types', async () => {
  const requests: unknown[] = []
  await using own = await startGateway({
    async listEvents(request) {
      requests.push(request)
      return {}
    },
  })
  const query = 'status=bounced&sandbox=true&limit=7&recipient=a%2Bb%40c.test&from=2026-01-31&to=2026-02-01T00:00:00.5Z'
  const { json } = await ask(own.url, `/api/v1/events?${query}`)
  expect(json).toEqual({ events: [], has_more: false })
  expect(requests).toMatchObject([
    {
      status: 2,
      sandbox: true,
      limit: 7,
      recipient: 'a+b@c.test',
      from: { seconds: 1769817600n, nanos: 0 },
      to: { seconds: 1769904000n, nanos: 500_000_000 },
    },
  ])
})

test.each([
  ['limit=1&limit=2', 'limit'],
  ['status=lost', 'status'],
  ['status=DELIVERED', 'status'],
  ['status=DELIVERY_STATUS_DELIVERED', 'status'],
  ['status=unspecified', 'status'],
  ['status=1', 'status'],
  ['limit=x', 'limit'],
  ['limit=', 'limit'],
  ['limit=-1', 'limit'],
  ['limit=1.5', 'limit'],
  ['sandbox=yes', 'sandbox'],
  ['from=yesterday', 'from'],
  ['from=2026-02-30', 'from'],
  ['nope=1', 'nope'],
  ['messageId=1', 'messageId'],
  ['__proto__=1', '__proto__'],
  ['recipient=%00', 'recipient'],
])('the query %s is a 400 that names the parameter', async (query, field) => {
  const response = await ask(url, `/api/v1/events?${query}`)
  expect([response.status, fieldsOf(response)]).toEqual([400, [field]])
})

test('a query that is not percent-encoded UTF-8 is a 400', async () => {
  expect((await ask(url, '/api/v1/events?recipient=%ff')).status).toBe(400)
})

test('a query may not add to a body, nor a body to a path', async () => {
  const response = await ask(url, '/api/v1/emails/send?subject=x', { method: 'POST', body: JSON.stringify(MAIL) })
  expect([response.status, fieldsOf(response)]).toEqual([400, ['subject']])
  expect(fieldsOf(await ask(url, `/api/v1/emails/${MESSAGE_ID}?id=msg_2`))).toEqual(['id'])
})

test.each([
  ['/', 200],
  ['/api/v1', 404],
  ['/api/v1/nope', 404],
  ['/api/v1/events/', 404],
  ['/api/v1/emails/a/b', 404],
  ['/api/v1/emails/msg_unknown', 404],
  [`/api/v1/emails/${'a'.repeat(600)}`, 404],
  ['/api/v1/emails/%0D', 404],
  ['/api/v1/emails/%0A', 404],
  ['/api/v1/emails/%E2%80%A8', 404],
  ['/api/v1/emails/I%C2%83%0D', 404],
  ['/api/v1/emails/%zz', 400],
  ['/api/v1/emails/a%00b', 400],
])('GET %s is a %i', async (path, status) => {
  expect((await ask(url, path)).status).toBe(status)
})

test.each([
  ['GET', '/api/v1/emails/send', 'POST, OPTIONS'],
  ['PUT', '/api/v1/emails/send', 'POST, OPTIONS'],
  ['DELETE', '/api/v1/emails/msg_1', 'GET, HEAD, OPTIONS'],
  ['POST', '/api/v1/events', 'GET, HEAD, OPTIONS'],
  ['PROPFIND', '/api/v1/events', 'GET, HEAD, OPTIONS'],
  ['POST', '/healthz', 'GET, HEAD, OPTIONS'],
  ['GET', '/verdict.v1.EmailService/Send', 'POST, OPTIONS'],
])('%s %s is a 405 that says what is allowed', async (method, path, allow) => {
  const { status, json, headers } = await ask(url, path, { method })
  expect([status, json.error, headers.get('allow')]).toEqual([405, 'method_not_allowed', allow])
})

const RATE_HEADERS = ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset']
const rateOf = ({ headers }: { headers: Headers }) => RATE_HEADERS.map((name) => headers.get(name) ?? undefined)
const shown = (rate: typeof RATE) => [rate.limit, rate.remaining, rate.resetAt].map(String)

test.each([
  ['a call', 'GET', '/api/v1/events', 200],
  ['HEAD', 'HEAD', '/api/v1/events', 200],
  ['the OpenAPI document', 'GET', '/api/v1/openapi.json', 200],
  ['OPTIONS', 'OPTIONS', '/api/v1/events', 204],
  ['OPTIONS of an RPC', 'OPTIONS', '/verdict.v1.EmailService/Send', 204],
  ['a path that does not exist', 'GET', '/api/v1/nope', 404],
  ['a method that the path does not have', 'DELETE', '/api/v1/events', 405],
  ['a method that the path does not have, of an RPC', 'GET', '/verdict.v1.EmailService/Send', 405],
  ['an RPC in an unknown protocol', 'POST', '/verdict.v1.EmailService/Send', 415],
  ['a path with an invalid encoding', 'GET', '/api/v1/%zz', 400],
  ['a part of a path that is too long', 'GET', `/api/v1/emails/${'x'.repeat(600)}`, 404],
])('%s counts for its key, and says how many requests are left', async (_, method, path, status) => {
  const response = await ask(url, path, { method })
  expect([response.status, rateOf(response)]).toEqual([status, shown(RATE)])
})

test.each([
  ['the OpenAPI document', 'GET', '/api/v1/openapi.json', 200],
  ['OPTIONS', 'OPTIONS', '/api/v1/events', 204],
  ['a path that does not exist', 'GET', '/nope', 404],
  ['a method that the path does not have', 'POST', '/api/v1/events', 405],
])(
  '%s counts for the address of a caller without a key, and says how many requests are left',
  async (_, method, path, status) => {
    const response = await ask(url, path, { method, key: null })
    expect([response.status, rateOf(response)]).toEqual([status, shown(ADDRESS_RATE)])
  },
)

test('no cache keeps a response of the API, with or without a secret; it may keep the guides', async () => {
  const cacheControl = async (method: string, path: string, body?: object) =>
    (await ask(url, path, { method, body: body && JSON.stringify(body) })).headers.get('cache-control')
  expect(await cacheControl('PUT', '/api/v1/webhook', { url: 'https://shop.test/webhooks' })).toBe('no-store')
  expect(await cacheControl('POST', '/api/v1/webhook/secret/rotate')).toBe('no-store')
  expect(await cacheControl('GET', `/api/v1/emails/${MESSAGE_ID}`)).toBe('no-store')
  expect(await cacheControl('GET', '/api/v1/nope')).toBe('no-store')
  expect(await cacheControl('GET', '/readyz')).toBe('no-store')
  expect((await fetch(`${url}/guides/`)).headers.get('cache-control')).toBe('max-age=3600')
})

test.each(['/healthz', '/readyz', '/docs'])('%s does not count', async (path) => {
  expect(rateOf(await fetch(url + path))).toEqual([undefined, undefined, undefined])
})

test('over the limit every path responds with 429, even one that does not exist', async () => {
  await using own = await startGateway({
    async gate({ tellRate }) {
      tellRate({ ...RATE, remaining: 0 })
      throw fail('rate_limit_exceeded', 'The 600 requests are used up.', { retryAfterSeconds: 7 })
    },
  })
  for (const [method, path] of [
    ['GET', '/api/v1/events'],
    ['GET', '/api/v1/openapi.json'],
    ['OPTIONS', '/api/v1/events'],
    ['GET', '/api/v1/nope'],
    ['DELETE', '/api/v1/events'],
    ['GET', '/api/v1/%zz'],
    ['POST', '/verdict.v1.EmailService/Send'],
  ] as const) {
    const response = await ask(own.url, path, { method })
    expect([response.status, response.json.error, response.headers.get('retry-after')], `${method} ${path}`).toEqual([
      429,
      'rate_limit_exceeded',
      '7',
    ])
    expect(rateOf(response)[1]).toBe('0')
  }
})

test('OPTIONS lists the allowed methods, and HEAD is GET without a body', async () => {
  const options = await ask(url, '/api/v1/events', { method: 'OPTIONS', key: null })
  expect([options.status, options.headers.get('allow')]).toEqual([204, 'GET, HEAD, OPTIONS'])
  const [get, head] = [await ask(url, '/api/v1/events'), await ask(url, '/api/v1/events', { method: 'HEAD' })]
  expect([head.status, head.text, head.headers.get('content-length')]).toEqual([200, '', String(get.text.length)])
})

test('a valid X-Request-Id of the caller is kept, in the response and for the service', async () => {
  let inside = ''
  await using own = await startGateway({
    async send(_, { values }) {
      inside = values.get(requestIdKey)
      throw fail('transient_failure', 'No.')
    },
  })
  const given = await send(own.url, MAIL, { 'x-request-id': 'order-1' })
  expect([given.headers.get('x-request-id'), given.json.request_id, inside]).toEqual(['order-1', 'order-1', 'order-1'])
  for (const id of ['', 'a b', 'x'.repeat(129)]) {
    const made = await send(own.url, MAIL, { 'x-request-id': id })
    expect(made.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/)
  }
})

test('every response has an X-Request-Id, errors included', async () => {
  for (const path of ['/api/v1/events', '/nope', '/api/v1/%zz', '/healthz', '/api/v1/openapi.json']) {
    expect((await fetch(url + path)).headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/)
  }
})

test.each(Object.entries(PUBLIC_ERRORS))('the error %s has its error code and status', async (reason, { status }) => {
  await using own = await startGateway({
    async send() {
      const fields = [{ field: 'to[0]', message: 'is wrong' }]
      throw fail(reason as ErrorReason, 'What is wrong.', { fields, retryAfterSeconds: 7 })
    },
  })
  const response = await send(own.url, MAIL)
  expect([response.status, response.json]).toEqual([
    status,
    {
      error: reason,
      message: 'What is wrong.',
      retry_after: 7,
      request_id: expect.any(String),
      details: [{ field: 'to[0]', message: 'is wrong' }],
    },
  ])
})

test('an unexpected error is a 500 without detail for the caller, with all detail in the log', async () => {
  await using own = await startGateway({
    async send() {
      throw new RangeError('a secret of the inside')
    },
  })
  const { status, json, text } = await send(own.url, MAIL)
  expect([status, json.error]).toEqual([500, 'transient_failure'])
  expect(text).not.toMatch(/secret|RangeError|memory-services\.ts/)
  expect(own.lines).toContainEqual(
    expect.objectContaining({
      msg: 'unexpected fault',
      request_id: json.request_id,
      err: expect.objectContaining({ type: 'RangeError', stack: expect.stringContaining('memory-services.ts') }),
    }),
  )
})

test('the key is checked before the body is read: no body, no 413, no 415 for a wrong one', async () => {
  for (const headers of [{ 'content-type': 'text/plain' }, { 'content-type': 'application/json' }]) {
    const body = 'x'.repeat(16 * 2 ** 20)
    const response = await ask(url, '/api/v1/emails/send', { method: 'POST', key: 'wrong', headers, body })
    expect([response.status, response.json.error]).toEqual([401, 'invalid_api_key'])
    expect(response.headers.get('www-authenticate')).toBe('Bearer')
  }
  expect((await ask(url, '/api/v1/events', { key: null })).status).toBe(401)
})

test('the gate receives the method, the header and the address', async () => {
  const seen: unknown[] = []
  await using own = await startGateway({
    async gate({ method, authorization, remoteAddress }) {
      seen.push([method?.name, authorization, remoteAddress])
      throw fail('insufficient_scope', 'No.')
    },
  })
  expect((await ask(own.url, '/api/v1/events', { key: 'k' })).status).toBe(403)
  expect((await ask(own.url, '/api/v1/events', { key: null })).status).toBe(403)
  expect(seen).toEqual([
    ['ListEvents', 'Bearer k', '127.0.0.1'],
    ['ListEvents', null, '127.0.0.1'],
  ])
})

test.each([
  [undefined, '127.0.0.1'],
  [['127.0.0.1/32'], '192.0.2.7'],
  [['10.0.0.0/8'], '127.0.0.1'],
])('with trusted proxies %j, X-Forwarded-For means %s', async (trustProxy, address) => {
  let seen = ''
  await using own = await startGateway({
    trustProxy,
    async gate({ remoteAddress }) {
      seen = remoteAddress
      return CALLER
    },
  })
  await ask(own.url, '/api/v1/events', { headers: { 'x-forwarded-for': '198.51.100.1, 192.0.2.7' } })
  expect(seen).toBe(address)
})

test('a header that the service sets is in the response', async () => {
  await using own = await startGateway({
    async send(_, { responseHeader, requestHeader }) {
      responseHeader.set('x-echo', requestHeader.get('x-service-sandbox') ?? '')
      return {}
    },
  })
  expect((await send(own.url, MAIL, { 'X-Service-Sandbox': 'true' })).headers.get('x-echo')).toBe('true')
})

test('15 MiB are accepted, and a byte more is a 413', async () => {
  const fill = (bytes: number) => {
    const empty = JSON.stringify({ ...MAIL, html: '' }).length
    return JSON.stringify({ ...MAIL, html: 'x'.repeat(bytes - empty) })
  }
  expect((await send(url, fill(15 * 2 ** 20))).status).toBe(200)
  const response = await send(url, fill(15 * 2 ** 20 + 1))
  expect([response.status, response.json.error]).toEqual([413, 'payload_too_large'])
})

test('a JSON bomb is a 400 at once', async () => {
  const watch = cpuStopwatch()
  for (const bomb of ['['.repeat(2 ** 20), '{"a":'.repeat(2 ** 20), `{"to":[${'[],'.repeat(2 ** 20)}[]]}`]) {
    expect((await send(url, bomb)).status).toBe(400)
  }
  expect((await send(url, `{"to":${'['.repeat(2_000)}${']'.repeat(2_000)}}`)).status).toBe(400)
  // A parser that recurses or backtracks takes far longer.
  expect(watch.ms()).toBeLessThan(2_000)
})
