import { pino } from 'pino'
import { beforeAll, expect, test } from 'vitest'
import { framePaths } from '../../../server/admin/frames.ts'
import { fail } from '../../../server/errors.ts'
import { createFastify } from '../../../server/http/fastify.ts'
import { frameRoutes } from '../../../server/http/site/frame-routes.ts'
import { words } from '../../harness/text.ts'
import { untilEnd } from '../../harness/until-end.ts'

const HTML = '<script>alert(1)</script><p>Hello'
const NAMES = ['a.pdf', 'x"\\%;\r\n.exe', 'Größe (1).txt', '€'.repeat(80)]

/** One account, `acc_own`, whose inbox has one message, `ibx_1`, with a file of each name. */
const own =
  <Content>(content: (index: number) => Content | undefined) =>
  async (accountId: string, id: string, index = 0) =>
    accountId === 'uuid' && (id === 'ibx_1' || id === 'msg_1') ? content(index) : undefined
const frames = framePaths({
  storedHtml: own(() => HTML),
  inboxHtml: own(() => HTML),
  inboxFile: own((index) => (NAMES[index] ? { filename: NAMES[index], content: Buffer.from(HTML) } : undefined)),
  inboxSource: own(() => ({ filename: 'ibx_1.eml', content: Buffer.from(HTML) })),
})

const visit = async () => {}
const records = { log: pino({ level: 'silent' }), inFlight: new Set<never>(), ended: () => {} }
const fastify = untilEnd(createFastify({ trustProxy: [], records, visit }))
beforeAll(async () => {
  frameRoutes(fastify, {
    frames,
    async gate({ cookie, account }) {
      if (cookie === 'busy') throw fail('rate_limit_exceeded', 'Too many.')
      if (cookie === undefined) throw fail('invalid_session', 'Sign in.')
      if (account !== 'acc_own') throw fail('not_found', 'You do not belong to it.')
      return { accountId: 'uuid', test: false }
    },
  })
  await fastify.ready()
})

const get = (path: string, cookie: string | undefined = 'session') =>
  fastify.inject({ url: `/dashboard/frame${path}`, headers: cookie ? { cookie } : {} })

const POLICY =
  "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; " +
  "frame-ancestors 'self'"

test.each(['/inbox/acc_own/ibx_1', '/messages/acc_own/msg_1'])(
  '%s is a page in a sandbox: no script, no request, no referrer, and framed by our pages only',
  async (path) => {
    const { statusCode, headers, body } = await get(path)
    expect(statusCode).toBe(200)
    expect(body).toBe(HTML)
    expect(headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': POLICY,
      'x-content-type-options': 'nosniff',
      'x-dns-prefetch-control': 'off',
      'referrer-policy': 'no-referrer',
      'cross-origin-resource-policy': 'same-origin',
      'cache-control': 'no-store',
    })
  },
)

test('remote images load over https once the person asked, and nothing else does', async () => {
  const { headers } = await get('/inbox/acc_own/ibx_1?images=remote')
  expect(headers['content-security-policy']).toBe(POLICY.replace('img-src data:', 'img-src data: https:'))
})

test.each(
  words(`
  ?images=remotely ?images= ?images=all ?ximages=remote ?images=remote;script-src ?a=images=remote
`),
)('%s allows nothing more', async (query) => {
  const { headers } = await get(`/inbox/acc_own/ibx_1${query}`)
  expect(headers['content-security-policy']).toBe(POLICY)
})

test.each(['/inbox/acc_own/ibx_1/source.eml', '/inbox/acc_own/ibx_1/attachments/0'])(
  '%s is a download and never a page',
  async (path) => {
    const { statusCode, headers, rawPayload } = await get(path)
    expect(statusCode).toBe(200)
    expect(rawPayload.toString()).toBe(HTML)
    expect(headers).toMatchObject({
      'content-type': 'application/octet-stream',
      'content-security-policy': POLICY,
      'x-content-type-options': 'nosniff',
    })
    expect(headers['content-disposition']).toMatch(/^attachment; filename="(ibx_1\.eml|a\.pdf)"; filename\*=UTF-8''/)
  },
)

test.each([
  [1, `attachment; filename="x___;__.exe"; filename*=UTF-8''x%22%5C%25%3B%0D%0A.exe`],
  [2, `attachment; filename="Gr__e (1).txt"; filename*=UTF-8''Gr%C3%B6%C3%9Fe%20%281%29.txt`],
  [3, `attachment; filename="${'_'.repeat(80)}"; filename*=UTF-8''${'%E2%82%AC'.repeat(80)}`],
])('the name of file %i cannot leave its header', async (index, disposition) => {
  expect((await get(`/inbox/acc_own/ibx_1/attachments/${index}`)).headers['content-disposition']).toBe(disposition)
})

const PATHS = [
  '/inbox/acc_own/ibx_1',
  '/inbox/acc_own/ibx_1/source.eml',
  '/inbox/acc_own/ibx_1/attachments/0',
  '/messages/acc_own/msg_1',
]

test('without a session, for another account and for an unknown message, each path looks the same: not found', async () => {
  const strangers = PATHS.map((path) => get(path, ''))
  const others = PATHS.map((path) => get(path.replace('acc_own', 'acc_other')))
  const unknown = PATHS.map((path) => get(path.replace('_1', '_2')))
  const more = ['99', '-1', '1.5', 'x', '12345'].map((index) => get(`/inbox/acc_own/ibx_1/attachments/${index}`))
  for (const { statusCode, json } of await Promise.all([...strangers, ...others, ...unknown, ...more])) {
    expect(statusCode).toBe(404)
    expect(json()).toMatchObject({ error: 'not_found', message: 'There is nothing at this path.' })
  }
})

test('a session that made too many calls is told so', async () => {
  expect((await get('/inbox/acc_own/ibx_1', 'busy')).statusCode).toBe(429)
})
