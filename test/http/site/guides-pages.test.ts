import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { pino } from 'pino'
import { expect, test } from 'vitest'
import { createFastify } from '../../../server/http/fastify.ts'
import { guidesPages } from '../../../server/http/site/guides-pages.ts'
import { temporaryFolder } from '../../harness/until-end.ts'

let visits = 0

function serve(from: string) {
  const visit = async () => void visits++
  const records = { log: pino({ enabled: false }), inFlight: new Set<never>(), ended: () => {} }
  const fastify = createFastify({ trustProxy: [], records, visit })
  guidesPages(fastify, { visit, folder: from })
  return fastify
}

const folder = temporaryFolder()
await mkdir(join(folder, 'migrating'))
await writeFile(join(folder, 'index.html'), 'overview')
await writeFile(join(folder, 'webhooks.html'), 'webhooks')
await writeFile(join(folder, 'webhooks.html.gz'), gzipSync('webhooks'))
await writeFile(join(folder, 'migrating/index.html'), 'migrating')
await writeFile(join(folder, 'receiver.mjs'), 'alert(1)')

test('/guides leads to the overview below any prefix', async () => {
  const { statusCode, headers } = await serve(folder).inject('/guides')
  expect([statusCode, headers.location]).toEqual([302, 'guides/'])
})

test.each([
  ['/guides/', 'overview'],
  ['/guides/webhooks', 'webhooks'],
  ['/guides/migrating/', 'migrating'],
])('%s is a page that allows nothing from another origin', async (url, text) => {
  const { statusCode, headers, body } = await serve(folder).inject(url)
  expect([statusCode, body]).toEqual([200, text])
  expect(headers).toMatchObject({ 'content-type': 'text/html; charset=utf-8', 'x-content-type-options': 'nosniff' })
  expect(headers['content-security-policy']).toMatch(/^default-src 'none'; script-src 'self'; style-src 'self'/)
  expect(headers['content-security-policy']).not.toMatch(/unsafe|https?:|\*/)
})

test('a page is compressed for a caller that accepts it', async () => {
  const headers = { 'accept-encoding': 'gzip' }
  const { rawPayload, headers: answered } = await serve(folder).inject({ url: '/guides/webhooks', headers })
  expect(answered['content-encoding']).toBe('gzip')
  expect(gunzipSync(rawPayload).toString()).toBe('webhooks')
})

test('an example is text, whatever its language', async () => {
  const { headers } = await serve(folder).inject('/guides/receiver.mjs')
  expect(headers['content-type']).toBe('text/plain; charset=utf-8')
})

test.each(['/guides/nothing', '/guides/..%2Findex', '/guides/webhooks.html.gz', '/guides/migrating'])(
  '%s is not a guide, and counts for its caller',
  async (url) => {
    visits = 0
    const { statusCode, json } = await serve(folder).inject(url)
    expect([statusCode, visits]).toEqual([404, 1])
    expect(json()).toMatchObject({ error: 'not_found', message: 'There is no such guide. See /guides.' })
  },
)

test('without a build the page says how to make one', async () => {
  const { statusCode, json } = await serve(join(folder, 'none')).inject('/guides/')
  expect([statusCode, json().message]).toEqual([404, 'The guides are not built. Run `npm run build`.'])
})
