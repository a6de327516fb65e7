import { once } from 'node:events'
import { connect } from 'node:net'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { createKey } from '../../../server/access/api-keys.ts'
import { SCOPES } from '../../../server/access/scopes.ts'
import { run } from '../../../server/db/statement.ts'
import { ERRORS, type ErrorReason } from '../../../server/errors.ts'
import { testAccount } from '../../harness/account.ts'
import { startDashboard } from '../../harness/person.ts'
import { words } from '../../harness/text.ts'

const PASSWORD = 'correct horse battery'

const PATHS = words(`
  /sign-in/email /sign-out /change-password /two-factor/enable /two-factor/disable /two-factor/generate-backup-codes
  /two-factor/verify-totp /two-factor/verify-backup-code
`)
/** The paths that compare a password or a code, with a body whose secret is wrong. */
const WRONG: Record<string, object> = {
  '/sign-in/email': { email: 'nobody@people.test', password: 'wrong' },
  '/change-password': { currentPassword: 'wrong', newPassword: 'a new password' },
  '/two-factor/enable': { password: 'wrong' },
  '/two-factor/disable': { password: 'wrong' },
  '/two-factor/generate-backup-codes': { password: 'wrong' },
  '/two-factor/verify-totp': { code: '000000' },
  '/two-factor/verify-backup-code': { code: 'wrong' },
}

const account = await testAccount()
const dashboard = await startDashboard({ db: account.db, clock: account.clock, trustProxy: ['127.0.0.0/8'] })

let callers = 0
/** An address that has not called yet. */
const newAddress = () => `10.1.${++callers >> 8}.${callers & 255}`

interface Asked {
  method?: string
  headers?: Record<string, string>
  body?: string | Buffer | ReadableStream
  /** By default a new address. */
  from?: string
  url?: string
}

/** Requests a path below /api/auth and expects an error with the documented body and its status. */
async function refusal(path: string, { method = 'POST', headers, body, from, url = dashboard.url }: Asked = {}) {
  const response = await fetch(`${url}/api/auth${path}`, {
    method,
    headers: {
      'content-type': 'application/json',
      origin: url,
      'x-forwarded-for': from ?? newAddress(),
      ...headers,
    },
    body,
    ...(body instanceof ReadableStream && { duplex: 'half' }),
  })
  const { status } = response
  const error = documented(status, response.headers, await response.text())
  return { status, error, headers: response.headers }
}

function documented(status: number, headers: Headers, text: string): ErrorReason {
  const json = JSON.parse(text)
  const { error, retry_after: wait } = json as { error: ErrorReason; retry_after?: number }
  expect(json).toMatchObject({ message: expect.stringMatching(/^\S.*[.?]$/), request_id: headers.get('x-request-id') })
  expect(['details', 'error', 'message', 'request_id', 'retry_after']).toEqual(
    expect.arrayContaining(Object.keys(json)),
  )
  expect([error, status]).toEqual([error, error === 'transient_failure' && wait ? 503 : ERRORS[error].status])
  expect([headers.get('content-type'), headers.get('retry-after')]).toEqual([
    'application/json; charset=utf-8',
    wait === undefined ? null : String(wait),
  ])
  return error
}

const chunked = (text: string) => new Blob([text]).stream()
const deep = `${'['.repeat(200)}${']'.repeat(200)}`

const FAULTY: [fault: string, asked: Asked, error: ErrorReason][] = [
  ['not JSON', { body: '{"email":' }, 'invalid_payload'],
  ['a text', { body: '"sign me in"' }, 'invalid_payload'],
  ['a list', { body: '[{}]' }, 'invalid_payload'],
  ['null', { body: 'null' }, 'invalid_payload'],
  ['nested too deep', { body: `{"email":${deep}}` }, 'invalid_payload'],
  ['a name twice', { body: '{"code":"1","code":"2"}' }, 'invalid_payload'],
  ['not UTF-8', { body: Buffer.from('{"email":"\xff"}', 'latin1') }, 'invalid_payload'],
  ['a long email', { body: JSON.stringify({ email: `${'a'.repeat(250)}@b.test` }) }, 'invalid_address'],
  ['over 16 KiB', { body: JSON.stringify({ password: 'x'.repeat(17_000) }) }, 'payload_too_large'],
  ['over 16 KiB in chunks', { body: chunked(`{"code":"${'x'.repeat(17_000)}"}`) }, 'payload_too_large'],
  [
    'a form',
    { body: 'a=b', headers: { 'content-type': 'application/x-www-form-urlencoded' } },
    'unsupported_media_type',
  ],
  [
    'in UTF-16',
    { body: '{}', headers: { 'content-type': 'application/json; charset=utf-16' } },
    'unsupported_media_type',
  ],
  ['compressed', { body: gzipSync('{}'), headers: { 'content-encoding': 'gzip' } }, 'unsupported_media_type'],
]

test.each(FAULTY)('a body that is %s has the documented error on every path', async (_, asked, error) => {
  for (const path of PATHS) {
    const body = asked.body instanceof ReadableStream ? chunked(`{"code":"${'x'.repeat(17_000)}"}`) : asked.body
    expect([path, (await refusal(path, { ...asked, body })).error]).toEqual([path, error])
  }
})

test('fields that are missing or of the wrong type have the documented error on every path that takes some', async () => {
  const { cookie } = await dashboard.person({ password: PASSWORD })
  for (const path of Object.keys(WRONG)) {
    const wrongTypes = Object.fromEntries(Object.keys(WRONG[path]!).map((name) => [name, { a: 1 }]))
    for (const body of ['', '{}', JSON.stringify(wrongTypes)]) {
      expect([path, (await refusal(path, { body, headers: { cookie } })).error]).toEqual([path, 'invalid_payload'])
    }
  }
})

test('a wrong password and a wrong code have the documented error', async () => {
  const { cookie } = await dashboard.person({ password: PASSWORD })
  const errorOf = async (path: string) =>
    (await refusal(path, { body: JSON.stringify(WRONG[path]), headers: { cookie } })).error
  expect(
    Object.fromEntries(await Promise.all(Object.keys(WRONG).map(async (path) => [path, await errorOf(path)]))),
  ).toEqual({
    '/sign-in/email': 'wrong_credentials',
    '/change-password': 'wrong_password',
    '/two-factor/enable': 'wrong_password',
    '/two-factor/disable': 'wrong_password',
    '/two-factor/generate-backup-codes': expect.stringMatching(/^wrong_(password|state)$/),
    '/two-factor/verify-totp': 'wrong_state',
    '/two-factor/verify-backup-code': 'wrong_state',
  })
})

test('a request without a session, and one of another site, have the documented error', async () => {
  const { cookie } = await dashboard.person({ password: PASSWORD })
  for (const [path, wrong] of Object.entries(WRONG)) {
    const body = JSON.stringify(wrong)
    if (path !== '/sign-in/email')
      expect([path, (await refusal(path, { body })).error]).toEqual([path, 'invalid_session'])
    for (const origin of ['https://evil.test', 'null']) {
      expect([path, (await refusal(path, { body, headers: { cookie, origin } })).error]).toEqual([path, 'wrong_origin'])
    }
  }
  expect((await refusal('/sign-out', { headers: { cookie, origin: 'https://evil.test' } })).error).toBe('wrong_origin')
})

test('paths that do not exist, and other methods, have the documented error', async () => {
  for (const path of [
    '',
    '/',
    '/get-session',
    '/sign-in/email/',
    '/sign-in//email',
    '/SIGN-IN/email',
    '/error',
    '/ok',
  ]) {
    expect([path, (await refusal(path, { body: '{}' })).error]).toEqual([path, 'not_found'])
  }
  expect((await refusal('/%zz')).error).toBe('invalid_payload')
  expect((await refusal('/%ff')).error).toBe('invalid_payload')
  for (const path of PATHS) {
    for (const method of ['GET', 'PUT', 'PATCH', 'DELETE', 'PROPFIND']) {
      const { error, headers } = await refusal(path, { method })
      expect([path, method, error, headers.get('allow')]).toEqual([path, method, 'method_not_allowed', 'POST, OPTIONS'])
    }
  }
})

test('bytes that are no request have the documented error', async () => {
  for (const head of [
    'content-length: x',
    'transfer-encoding: gzip',
    'content-length: 2\r\ntransfer-encoding: chunked',
  ]) {
    const socket = connect(Number(new URL(dashboard.url).port), '127.0.0.1')
    socket.write(
      `POST /api/auth/sign-in/email HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n${head}\r\n\r\n{}`,
    )
    const chunks: Buffer[] = []
    socket.on('data', (chunk: Buffer) => chunks.push(chunk))
    await once(socket, 'end')
    socket.destroy()
    const [top = '', body = ''] = Buffer.concat(chunks).toString().split('\r\n\r\n')
    const [, ...lines] = top.split('\r\n')
    const headers = new Headers(lines.map((line) => line.split(/: ?/, 2) as [string, string]))
    expect([head, documented(400, headers, body)]).toEqual([head, 'invalid_payload'])
  }
})

test('after 600 requests in a minute an address gets the documented error, on every path, also with a key', async () => {
  const { db, clock, accountId } = account
  const { key } = await createKey(db, clock, { accountId, name: 'test', kind: 'live', scopes: SCOPES })
  const from = newAddress()
  const ask = (path: string) =>
    fetch(`${dashboard.url}/api/auth${path}`, {
      method: 'POST',
      headers: { 'x-forwarded-for': from, authorization: `Bearer ${key}` },
    })
  for (let i = 0; i < 600; i++) expect((await ask('/sign-in/email')).status).toBe(415)
  for (const path of PATHS) {
    const { error, headers } = await refusal(path, { from, body: '{}' })
    expect([path, error]).toEqual([path, 'rate_limit_exceeded'])
    expect([headers.get('x-ratelimit-limit'), headers.get('x-ratelimit-remaining')]).toEqual(['600', '0'])
  }
})

test('only a wrong password or code counts as an attempt', async () => {
  const { email, cookie } = await dashboard.person({ password: PASSWORD })
  const from = newAddress()
  const signIn = (password: unknown, headers = {}) =>
    refusal('/sign-in/email', { from, headers, body: JSON.stringify({ email, password }) })
  for (let i = 0; i < 12; i++) {
    expect((await signIn(7)).error).toBe('invalid_payload')
    expect((await signIn('x'.repeat(129))).error).toBe('invalid_payload')
    expect((await signIn(PASSWORD, { cookie, origin: 'https://evil.test' })).error).toBe('wrong_origin')
  }
  for (let i = 0; i < 10; i++) expect((await signIn('wrong')).error).toBe('wrong_credentials')
  expect((await signIn(PASSWORD)).error).toBe('rate_limit_exceeded')
})

test('a fault of the service has the documented error, and counts as no attempt', async () => {
  const { db, clock } = await testAccount()
  const own = await startDashboard({ db, clock })
  const { url } = own
  const { email, cookie } = await own.person({ password: PASSWORD })
  const signIn = () => ({ url, body: JSON.stringify({ email, password: PASSWORD }) })
  await run(db, 'alter table sessions rename to away')
  for (let i = 0; i < 11; i++) expect((await refusal('/sign-in/email', signIn())).status).toBe(500)
  for (const [path, body] of Object.entries(WRONG).slice(1)) {
    const asked = { url, body: JSON.stringify(body), headers: { cookie } }
    expect([path, (await refusal(path, asked)).error]).toEqual([path, 'transient_failure'])
  }
  await run(db, 'alter table away rename to sessions')
  const { status } = await fetch(`${url}/api/auth/sign-in/email`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: signIn().body,
  })
  expect(status).toBe(200)
})
