import type { Page } from 'playwright-core'
import { beforeAll, expect, test } from 'vitest'
import { untilEnd } from '../../harness/until-end.ts'
import { axeFindings, loaded } from './browser.ts'
import { type Installation, startInstallation } from './installation.ts'
import { openOwner } from './owner.ts'

// What a person chooses: the simulator on the overview; the range, columns and saved filters of a list; the palette.

let installation: Installation
let page: Page
let faults: string[]
let base: string

beforeAll(async () => {
  installation = untilEnd(await startInstallation())
  const opened = await openOwner(installation, { viewport: { width: 1440, height: 900 } })
  ;({ page, faults } = opened)
  base = `${installation.ready.url}/dashboard/${opened.account}`
  const { ready } = installation
  const send = (to: string, tag: string) =>
    fetch(`${ready.url}/api/v1/emails/send`, {
      method: 'POST',
      headers: { authorization: `Bearer ${ready.keys.live}`, 'content-type': 'application/json' },
      body: JSON.stringify({ from: 'hello@example.test', to, subject: `A message about ${tag}`, text: 'Hello', tag }),
    })
  await send('delivered@simulator.test', 'orders')
  await send('mailbox_full@simulator.test', 'codes')
}, 240_000)

const button = (name: string) => page.getByRole('button', { name, exact: true })
/** The rows that were shown before stay until the next ones are loaded. */
const rows = () => page.getByRole('row').filter({ hasText: 'A message about' })
const parameter = (name: string) => new URL(page.url()).searchParams.get(name)

test('the overview shows emails to the simulator when asked to', async () => {
  await page.goto(base)
  const figures = page.getByRole('list', { name: 'Figures' })
  await figures.getByRole('link', { name: /^Sent 0/ }).waitFor()
  await page.getByRole('link', { name: '2 emails went to the simulator, which is counted apart' }).waitFor()
  await page.getByLabel('Simulator').click({ force: true })
  await figures.getByRole('link', { name: /^Sent 2/ }).waitFor()
  expect(parameter('simulated')).toBe('true')
  await figures.getByRole('link', { name: /^Bounced/ }).click()
  await page.waitForURL(/\/messages\?.*recipient_domain=simulator\.test/)
  await page.getByRole('row').filter({ hasText: 'A message about codes' }).waitFor()
})

test('the columns of Messages are in its address, and the browser keeps them', async () => {
  await page.goto(`${base}/messages`)
  await button('Columns').click()
  await page.getByRole('checkbox', { name: 'Tag' }).check()
  await page.getByRole('checkbox', { name: 'Server' }).check()
  await page.getByRole('columnheader', { name: 'Server' }).waitFor()
  expect(parameter('columns')).toBe('tag,server')
  await page.getByRole('cell', { name: 'mx.simulator.test' }).first().waitFor()
  await page.goto(`${base}/messages`)
  await page.getByRole('columnheader', { name: 'Tag' }).waitFor()
  await page.goto(`${base}/messages?columns=from`)
  await page.getByRole('columnheader', { name: 'From' }).waitFor()
  expect(await page.getByRole('columnheader', { name: 'Tag' }).count()).toBe(0)
})

test('filters and a range are saved under a name and opened again', async () => {
  await page.goto(`${base}/messages?status=bounced`)
  await button('7 days').click()
  await button('Saved').click()
  await page.getByLabel('Save what is shown as').fill('Bounces of the week')
  await button('Save').click()
  await page.goto(`${base}/messages`)
  await button('Saved').click()
  await button('Bounces of the week').click()
  await page.waitForURL(/status=bounced/)
  expect(parameter('range')).toBe('7d')
  await expect.poll(() => rows().count()).toBe(1)
})

test('two days of the calendar are a range, in which the messages of today are', async () => {
  await page.goto(`${base}/messages`)
  await button('Custom range').click()
  const today = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'long', year: 'numeric' }).format(new Date())
  await page.getByLabel(today, { exact: true }).click()
  expect(await axeFindings(page)).toEqual([])
  await button('Apply').click()
  await page.waitForURL(/from=.*to=/)
  await page.getByRole('row').filter({ hasText: 'A message about orders' }).waitFor()
})

test('a filter by tag offers the tags that were used', async () => {
  await page.goto(`${base}/messages`)
  await button('Add filter').click()
  await button('Tag').click()
  await button('codes').click()
  await page.waitForURL(/tag=codes/)
  await expect.poll(() => rows().count()).toBe(1)
})

test('Ctrl+K goes to a page, and opens the dialog of an action', async () => {
  await page.goto(`${base}/messages`)
  await page.getByRole('heading', { level: 1, name: 'Messages' }).waitFor()
  await page.keyboard.press('Control+k')
  const box = page.getByRole('combobox', { name: 'Go to a page, search, or do something' })
  await box.fill('limits')
  expect(await axeFindings(page)).toEqual([])
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { level: 1, name: 'Limits' }).waitFor()
  await page.keyboard.press('Control+k')
  await box.fill('create key')
  await page.keyboard.press('Enter')
  await page.getByRole('dialog', { name: 'Create key' }).waitFor()
  await page.keyboard.press('Escape')
  await expect.poll(() => page.url()).not.toContain('#create')
  await page.keyboard.press('Control+k')
  await box.fill('codes')
  await page.getByRole('option', { name: 'Messages with the tag codes' }).click()
  await page.waitForURL(/tag=codes/)
  expect(faults).toEqual([])
})

test('an address opens the dialog of a change for members, and not for readers', async () => {
  const dialogs = {
    '/domains#add': 'Add domain',
    '/suppressions#add': 'Add address',
    '/settings/keys#create': 'Create key',
  }
  for (const [path, name] of Object.entries(dialogs)) {
    await page.goto(`${base}${path}`)
    await page.getByRole('dialog', { name }).waitFor()
  }
  await installation.sql`update members set role = 'reader'`
  for (const path of Object.keys(dialogs)) {
    await page.goto(`${base}${path}`)
    await page.getByText('You are a reader of this account.').waitFor()
    await loaded(page)
    expect(await page.getByRole('dialog').count()).toBe(0)
  }
})
