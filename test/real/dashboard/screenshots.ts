import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { loaded } from './browser.ts'
import { runDemo } from './demo.ts'
import { firstDomain, firstInInbox, startInstallation, storeReplay } from './installation.ts'
import { signUp } from './owner.ts'
import { PAGES, pathOf } from './pages.ts'
import { startSample } from './sample.ts'

// `npm run screenshots`: every page in light and in dark, at three widths, into screenshots/, and for the README and
// the guides three pages into docs/images/: one of the sample, and two of the demo's week.

const FOLDER = 'screenshots'
const IMAGES = 'docs/images'
const OF_SAMPLE = ['Events']
const OF_DEMO = {
  overview: '',
  message: '/messages?reason=mailbox_full',
}
const NARROW = { width: 360, height: 740 }
const MIDDLE = { width: 1024, height: 768 }
const WIDE = { width: 1280, height: 800 }

await Promise.all([mkdir(FOLDER, { recursive: true }), mkdir(IMAGES, { recursive: true })])
await using sample = await startSample()
await using installation = await startInstallation(sample.env)
const { ready, browser, setUpLink } = installation
const { context } = await browser.context(ready.url, { viewport: WIDE })
const page = await context.newPage()
const { account } = await signUp(page, setUpLink)
const message = await sample.fill(installation)
const domain = await firstDomain(installation)
const inbox = await firstInInbox(installation, page, account)
const ids = { message, domain, inbox, replay: await storeReplay(installation, account) }

for (const [name, path] of PAGES) {
  await page.goto(`${ready.url}/dashboard/${account}${pathOf(path, ids)}`)
  await loaded(page)
  await page.waitForLoadState('networkidle')
  const file = name.toLowerCase().replaceAll(' ', '-')
  for (const colorScheme of ['dark', 'light'] as const) {
    await page.setViewportSize(WIDE)
    await page.emulateMedia({ colorScheme })
    await page.locator(`html[data-mantine-color-scheme=${colorScheme}]`).waitFor()
    if (OF_SAMPLE.includes(name)) await page.screenshot({ path: join(IMAGES, `${file}.${colorScheme}.png`) })
    for (const size of [WIDE, MIDDLE, NARROW]) {
      await page.setViewportSize(size)
      await painted(page)
      await page.screenshot({
        path: join(FOLDER, `${file}.${colorScheme}.${size.width}.png`),
        fullPage: true,
        animations: 'disabled',
      })
    }
  }
  console.log(`${name} is in ${FOLDER}/${file}.*.png`)
}

/** Waits until the browser has drawn the page in its new size. */
async function painted(page: Page): Promise<void> {
  await page.evaluate('new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))')
}

const demo = `/dashboard/${await runDemo(installation)}`
await page.setViewportSize(WIDE)
for (const [file, path] of Object.entries(OF_DEMO)) {
  await page.goto(`${ready.url}${demo}${path}`)
  if (file === 'message') await page.locator('a[data-row-link]').first().click()
  await loaded(page)
  await page.waitForLoadState('networkidle')
  for (const colorScheme of ['dark', 'light'] as const) {
    await page.emulateMedia({ colorScheme })
    await page.locator(`html[data-mantine-color-scheme=${colorScheme}]`).waitFor()
    await page.screenshot({ path: join(IMAGES, `${file}.${colorScheme}.png`) })
  }
  console.log(`${file} of the demo is in ${IMAGES}`)
}
