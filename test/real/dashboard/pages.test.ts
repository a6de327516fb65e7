import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type NpmStart, npmStart, type Ready } from '../../dev/npm-start.ts'
import { axeFindings, loaded, startBrowser, type TestBrowser } from './browser.ts'
import { type Owner, signUp } from './owner.ts'

let started: NpmStart
let ready: Ready
let browser: TestBrowser
let owner: Owner
let messageId: string

beforeAll(async () => {
  started = await npmStart()
  const { program, ready: facts } = await started.startAndWait()
  ready = facts
  browser = await startBrowser()
  const { context, faults } = await browser.context(ready.url)
  owner = await signUp(context, program.stdout())
  await context.close()
  expect(faults).toEqual([])
  messageId = await send('mailbox_full@simulator.test')
  await send('delivered@simulator.test')
}, 240_000)

afterAll(async () => {
  await browser?.[Symbol.asyncDispose]()
  await started?.stop()
  await started?.remove()
})

async function send(to: string): Promise<string> {
  const response = await fetch(`${ready.url}/api/v1/emails/send`, {
    method: 'POST',
    headers: { authorization: `Bearer ${ready.keys.live}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      from: 'hello@example.test',
      to,
      subject: 'Hello',
      text: 'It works.',
      html: '<p>It works.</p>',
    }),
  })
  return ((await response.json()) as { message_id: string }).message_id
}

const PAGES: [name: string, path: () => string][] = [
  ['Overview', () => ''],
  ['Messages', () => '/messages'],
  ['Messages without a match', () => '/messages?recipient=nobody%40example.com'],
  ['Message', () => `/messages/${messageId}`],
  ['Events', () => '/events'],
  ['Replay a range', () => '/events/replay'],
  ['Domains', () => '/domains'],
  ['Suppressions', () => '/suppressions'],
  ['Import suppressions', () => '/suppressions/import'],
  ['API keys', () => '/settings/keys'],
  ['Webhook', () => '/settings/webhook'],
  ['People', () => '/settings/people'],
  ['Audit log', () => '/settings/audit'],
  ['Limits', () => '/settings/limits'],
  ['Profile', () => '/settings/profile'],
  ['Inbox', () => '/inbox'],
]

async function open(name: string, options: Parameters<TestBrowser['context']>[1] = {}) {
  const { context, faults } = await browser.context(ready.url, { storageState: owner.state, ...options })
  const page = await context.newPage()
  const path = PAGES.find(([one]) => one === name)![1]()
  await page.goto(`${ready.url}/dashboard/${owner.account}${path}`)
  await loaded(page)
  return { page, faults, [Symbol.asyncDispose]: () => context.close() }
}

test.each(PAGES)('%s has no finding of axe, in light and dark, and asks no other origin', async (name) => {
  for (const colorScheme of ['light', 'dark'] as const) {
    await using opened = await open(name, { colorScheme })
    expect(await axeFindings(opened.page), colorScheme).toEqual([])
    expect(opened.faults).toEqual([])
  }
})

test.each(PAGES)('%s fits on 360 pixels', async (name) => {
  await using opened = await open(name, { viewport: { width: 360, height: 740 } })
  const { page } = opened
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(360)
})

test.each(PAGES)('%s is reached and left by the keyboard alone', async (name) => {
  await using opened = await open(name)
  const { page } = opened
  await page.keyboard.press('Tab')
  expect(await focused(page)).toMatch(/skip/i)
  await page.keyboard.press('Escape')
  await page.locator('body').press('g')
  await page.keyboard.press('s')
  await page.waitForURL(/\/settings/)
})

const focused = (page: Page) => page.evaluate<string>("document.activeElement?.textContent ?? ''")

test('without a session every page leads to the sign-in and back', async () => {
  const { context } = await browser.context(ready.url)
  const page = await context.newPage()
  await page.goto(`${ready.url}/dashboard/${owner.account}/domains`)
  await page.waitForURL(/\/sign-in/)
  await page.getByLabel('Email address').fill(owner.email)
  await page.getByLabel('Password', { exact: true }).fill(owner.password)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.waitForURL(/\/domains$/)
  await context.close()
})
