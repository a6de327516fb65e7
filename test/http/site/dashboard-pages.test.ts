import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { pino } from 'pino'
import { expect, test } from 'vitest'
import { createFastify } from '../../../server/http/fastify.ts'
import { NONCE } from '../../../server/http/site/dashboard-files.ts'
import { dashboardPages } from '../../../server/http/site/dashboard-pages.ts'
import { temporaryFolder } from '../../harness/until-end.ts'

let paths: (string | undefined)[] = []
const visits: string[] = []
const script = Buffer.from('export const answer = 42')

function serve(from: string) {
  const visit = async () => void visits.push('visit')
  const ended = ({ path }: { path: string | undefined }) => void paths.push(path)
  const fastify = createFastify({
    trustProxy: [],
    records: { log: pino({ enabled: false }), inFlight: new Set(), ended },
    visit,
  })
  fastify.addHook('onRequest', async (request) => {
    request.call.path = request.routeOptions.url
  })
  dashboardPages(fastify, { visit, folder: from })
  return fastify
}

const folder = temporaryFolder()
await mkdir(join(folder, 'assets'))
await writeFile(join(folder, 'index.html'), `<meta property="csp-nonce" nonce="${NONCE}"><script nonce="${NONCE}">`)
await writeFile(join(folder, 'assets/main-abc.js'), script)
await writeFile(join(folder, 'assets/main-abc.js.gz'), gzipSync(script))
await writeFile(join(folder, 'assets/main-abc.js.br'), 'brotli')

test.each(['/dashboard', '/dashboard/', '/dashboard/acc_1/messages/msg_1?status=bounced'])(
  'the page answers at %s, is not cached, and allows nothing from another origin',
  async (url) => {
    const { statusCode, headers, body } = await serve(folder).inject(url)
    expect(statusCode).toBe(200)
    expect(headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-cache',
      'x-content-type-options': 'nosniff',
      'cross-origin-opener-policy': 'same-origin',
    })
    const policy = String(headers['content-security-policy'])
    expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self' 'nonce-")
    expect(policy).not.toMatch(/unsafe|https?:|\*/)
    const nonce = /'nonce-([^']+)'/.exec(policy)![1]!
    expect(body).toBe(`<meta property="csp-nonce" nonce="${nonce}"><script nonce="${nonce}">`)
  },
)

test('each response has a nonce of its own', async () => {
  const server = serve(folder)
  const responses = await Promise.all(Array.from({ length: 20 }, () => server.inject('/dashboard')))
  expect(new Set(responses.map(({ body }) => body)).size).toBe(20)
})

test.each([
  ['', undefined, script],
  ['gzip, deflate', 'gzip', gzipSync(script)],
  ['gzip, deflate, br', 'br', Buffer.from('brotli')],
  ['br;q=0, gzip;q=0.5', 'gzip', gzipSync(script)],
  ['*', 'br', Buffer.from('brotli')],
  ['zstd', undefined, script],
])('a file is sent in the smallest form that Accept-Encoding "%s" allows: %s', async (accepted, coding, bytes) => {
  const response = await serve(folder).inject({
    url: '/dashboard/assets/main-abc.js',
    headers: { 'accept-encoding': accepted },
  })
  expect(response.statusCode).toBe(200)
  expect(response.headers['content-encoding']).toBe(coding)
  expect(response.headers).toMatchObject({
    'content-type': 'text/javascript; charset=utf-8',
    'cache-control': 'public, max-age=31536000, immutable',
    vary: 'accept-encoding',
  })
  expect(response.rawPayload).toEqual(bytes)
  if (coding === 'gzip') expect(gunzipSync(response.rawPayload)).toEqual(script)
})

test.each(['nothing.js', '../index.html', '..%2findex.html', 'main-abc.js.gz', ''])(
  'an unknown file is an error like every other, and counts: %s',
  async (name) => {
    visits.length = 0
    const { statusCode, json } = await serve(folder).inject(`/dashboard/assets/${name}`)
    if (name.startsWith('../')) return expect(statusCode).toBe(200)
    expect(statusCode).toBe(404)
    expect(json()).toMatchObject({ error: 'not_found', request_id: expect.any(String) })
    expect(visits).toEqual(['visit'])
  },
)

test('the log names the pattern of a path: the path itself may hold an id of a message', async () => {
  paths = []
  const server = serve(folder)
  for (const url of ['/dashboard/acc_1/messages/msg_1', '/dashboard/assets/main-abc.js']) await server.inject(url)
  expect(paths).toEqual(['/dashboard/*', '/dashboard/assets/*'])
})

test('a server without a build says which command builds the dashboard, and serves a later build', async () => {
  const empty = temporaryFolder()
  const server = serve(empty)
  const { statusCode, body } = await server.inject('/dashboard')
  expect(statusCode).toBe(503)
  expect(body).toContain('npm run build')
  expect((await server.inject('/dashboard/assets/main-abc.js')).statusCode).toBe(404)

  await mkdir(join(empty, 'assets'))
  await writeFile(join(empty, 'index.html'), 'built')
  expect((await server.inject('/dashboard')).body).toBe('built')
  await rm(empty, { recursive: true })
})
