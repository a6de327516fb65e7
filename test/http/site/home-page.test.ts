import { expect, test } from 'vitest'
import { startApi } from '../../services/api.ts'

const api = await startApi()

// The pages that `npm run build` has built.
test('the page at / says what this is, and each of its addresses exists', async () => {
  const response = await fetch(`${api.url}/`)
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
  const page = await response.text()
  expect(page).toMatch(/responds with what the recipient.s own mail server said/)
  const addresses = [...page.matchAll(/href="([^"]+)"/g)].map(([, href]) => href!)
  expect(addresses).toEqual(expect.arrayContaining(['dashboard', 'guides/', 'docs']))
  for (const address of addresses)
    expect([address, (await fetch(`${api.url}/${address}`)).status]).toEqual([address, 200])
})
