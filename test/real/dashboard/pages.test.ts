import type { BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { untilEnd } from '../../harness/until-end.ts'
import { axeFindings, loaded, OBSERVE_SHIFT } from './browser.ts'
import { firstDomain, firstInInbox, type Installation, startInstallation, storeReplay } from './installation.ts'
import { type Owner, openOwner, signIn } from './owner.ts'
import { type Ids, PAGES, pathOf } from './pages.ts'

let installation: Installation
let owner: Owner
let context: BrowserContext
let faults: string[]
let ids: Ids

beforeAll(async () => {
  installation = untilEnd(await startInstallation())
  const opened = await openOwner(installation)
  ;({ context, faults, owner } = opened)
  const message = await installation.send({ to: 'mailbox_full@simulator.test' })
  await installation.send({ to: 'delivered@simulator.test' })
  const long = 'policy_block+a-local-part-as-long-as-one-may-well-be@simulator.test'
  await installation.send({
    to: long,
    subject: 'A subject that does not fit into a row of any list beside all that else it has',
  })
  const domain = await firstDomain(installation)
  const replay = await storeReplay(installation, owner.account)
  ids = { message, domain, replay, inbox: await firstInInbox(installation, opened.page, owner.account) }
  await opened.page.close()
}, 240_000)

async function open(path: string): Promise<Page> {
  const page = await context.newPage()
  await page.goto(`${installation.ready.url}/dashboard${path}`)
  await loaded(page)
  return page
}

const ofAccount = (path: string) => open(`/${owner.account}${path}`)

describe.each(PAGES)('%s', (_, path) => {
  let page: Page

  beforeAll(async () => {
    page = await ofAccount(pathOf(path, ids))
  })
  afterAll(() => page?.close())

  test('is reached and left by the keyboard alone', async () => {
    await page.keyboard.press('Tab')
    expect(await focused(page)).toBe('Skip to the page')
    await page.keyboard.press('g')
    await page.keyboard.press('s')
    await page.waitForURL(/\/settings\/keys$/)
    await page.goBack()
    await loaded(page)
  })

  test('has no finding of axe, in light and dark', async () => {
    expect(await axeFindings(page)).toEqual([])
  })

  test('fits on 360 pixels', async () => {
    await page.setViewportSize({ width: 360, height: 740 })
    await expect.poll(() => page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(360)
  })
})

/** The sum of the shifts of a layout that people do not notice. */
const MOST_SHIFT = 0.05

test.each(PAGES.flatMap(([name, path]) => [1280, 1024, 360].map((width) => [name, width, path] as const)))(
  '%s is as wide as a window of %d pixels, and has its place before its content is loaded',
  async (_, width, path) => {
    const page = await context.newPage()
    await page.addInitScript(OBSERVE_SHIFT)
    await page.setViewportSize({ width, height: 900 })
    await page.goto(`${installation.ready.url}/dashboard/${owner.account}${pathOf(path, ids)}`)
    await loaded(page)
    await page.waitForLoadState('networkidle')
    expect(await page.evaluate('window.shift')).toBeLessThan(MOST_SHIFT)
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width)
    await page.close()
  },
)

const focused = (page: Page) => page.evaluate<string>("document.activeElement?.textContent ?? ''")

const OPENED: [name: string, path: string, open: (page: Page) => Promise<void>][] = [
  ['The menu of the person', '', (page) => page.getByRole('button', { name: 'Olga Owner' }).click()],
  ['The list of keys', '', (page) => page.keyboard.press('?')],
  ['The menu of filters', '/messages', (page) => page.getByRole('button', { name: 'Add filter' }).click()],
  ['The form of a domain', '/domains', (page) => page.getByRole('button', { name: 'Add domain' }).click()],
  ['The form of a key', '/settings/keys', (page) => page.getByRole('button', { name: 'Create key' }).click()],
  ['The form of a person', '/settings/people', (page) => page.getByRole('button', { name: 'Invite person' }).click()],
  [
    'The menu on a narrow screen',
    '',
    async (page) => {
      await page.setViewportSize({ width: 360, height: 740 })
      await page.getByRole('button', { name: 'Open the menu' }).click()
    },
  ],
]

test.each(OPENED)('%s has no finding of axe, and Escape closes it', async (_, path, openIt) => {
  const page = await ofAccount(path)
  const popup = page.locator('[role=dialog], [role=menu]')
  await openIt(page)
  await popup.first().waitFor()
  expect(await axeFindings(page)).toEqual([])
  await page.keyboard.press('Escape')
  await popup.first().waitFor({ state: 'detached' })
  await page.close()
})

test('no page asks another origin, and none meets the policy', () => {
  expect(faults).toEqual([])
})

test('without a session every page leads to the sign-in, which has no finding of axe, and back', async () => {
  const { context } = await installation.browser.context(installation.ready.url)
  const page = await context.newPage()
  await page.goto(`${installation.ready.url}/dashboard/${owner.account}/domains`)
  await page.waitForURL(/\/sign-in/)
  expect(await axeFindings(page)).toEqual([])
  await signIn(page, owner)
  await page.waitForURL(/\/domains$/)
  await context.close()
})
