import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { startInstallation } from './installation.ts'

const CONFIG = fileURLToPath(new URL('../../../dashboard/vite.config.ts', import.meta.url))

test('npm run dashboard serves the pages, and sends their calls to the API', async () => {
  await using installation = await startInstallation()
  const { ready, setUpLink, browser } = installation
  process.env.PUBLIC_URL = ready.url
  const { createServer } = await import('vite')
  const vite = await createServer({ configFile: CONFIG, logLevel: 'error', server: { host: '127.0.0.1', port: 0 } })
  await using _ = { [Symbol.asyncDispose]: () => vite.close() }
  await vite.listen()
  const origin = vite.resolvedUrls!.local[0]!.replace(/\/dashboard\/$/, '')
  const { context, faults } = await browser.context(origin)
  const page = await context.newPage()
  // Vite bundles the packages at the first visit, and then loads the page again.
  await page.goto(origin + new URL(setUpLink).pathname, { waitUntil: 'commit' })
  await page.getByText('You will own every account of this installation').waitFor({ timeout: 120_000 })
  expect(faults).toEqual([])
}, 240_000)
