import { readFile } from 'node:fs/promises'
import type { Locator, Page } from 'playwright-core'
import { beforeAll, expect, test } from 'vitest'
import { type Receiver, startReceiver } from '../../harness/receiver.ts'
import { untilEnd } from '../../harness/until-end.ts'
import { axeFindings, loaded } from './browser.ts'
import { type Installation, startInstallation } from './installation.ts'
import { type Owner, signUp } from './owner.ts'

// One person, from the set-up link on. Each test goes on where the one before it ended.

let installation: Installation
let receiver: Receiver
let page: Page
let faults: string[]
let owner: Owner
let key: string
let replayPage: string
let setUpStartedAtMs: number

beforeAll(async () => {
  ;[installation, receiver] = await Promise.all([startInstallation().then(untilEnd), startReceiver().then(untilEnd)])
  const opened = await installation.browser.context(installation.ready.url)
  faults = opened.faults
  page = await opened.context.newPage()
}, 240_000)

const menu = (name: string) => page.getByRole('navigation').getByRole('link', { name, exact: true }).click()
const button = (name: string | RegExp, within: Page | Locator = page) => within.getByRole('button', { name })
const dialog = () => page.getByRole('dialog')
const shows = (text: string | RegExp, within: Page | Locator = page) => within.getByText(text).first().waitFor()

test('the set-up link leads to the overview with the first steps', async () => {
  setUpStartedAtMs = Date.now()
  owner = await signUp(page, installation.setUpLink)
  await shows('First steps')
  await shows('Set a webhook endpoint')
})

test('a new key is shown once', async () => {
  await menu('Settings')
  await button('Create key').click()
  await dialog().getByLabel('Name').fill('Shop')
  await button('Create key', dialog()).click()
  key = (await dialog().getByRole('region', { name: 'Key' }).textContent())!
  expect(key).toMatch(/^\S{30,}$/)
  await button('I have copied the key').click()
  await shows('Shop', page.getByRole('main'))
  expect(await page.content()).not.toContain(key)
})

test('the webhook is set, less than a minute after the link was opened', async () => {
  await page.getByRole('link', { name: 'Webhook' }).click()
  await page.getByLabel('URL').fill(receiver.url)
  await button('Save endpoint').click()
  await shows('Copy the secret now.')
  await button('I have copied the secret').click()
  await shows('Not used yet')
  // The promised minute.
  expect(Date.now() - setUpStartedAtMs).toBeLessThan(60_000)
})

test('the search leads from an address to the message, and the message to the words of the server', async () => {
  receiver.script = { status: 500, body: 'The database is <b>down</b>' }
  await installation.send({ to: 'mailbox_full@simulator.test', subject: 'Your order' }, key)
  await page.keyboard.press('/')
  await page.keyboard.type('mailbox_full@simulator.test')
  await page.keyboard.press('Enter')
  await page.getByRole('main').getByRole('link', { name: 'mailbox_full@simulator.test' }).first().click()
  await page.waitForURL(/\/messages\/msg_/)
  await shows('The mailbox of mailbox_full@simulator.test is full.')
  await shows('452 4.2.2')
  await shows('RCPT TO')
})

test('an attempt that failed is shown with its response and the time of the next one', async () => {
  await shows('HTTP 500')
  await shows('The database is <b>down</b>')
  await shows('Attempt 2')
  await button('Retry now').waitFor()
  await menu('Events')
  await shows(/^Next attempt in \d+ s$/)
  await page.goBack()
})

test('Retry now reaches the repaired endpoint, which acknowledges', async () => {
  receiver.script = {}
  await button('Retry now').click()
  await shows('Acknowledged', page.getByRole('article'))
  expect(new Set(receiver.requests.map(({ headers }) => headers['webhook-id'])).size).toBe(1)
})

test('a range of events is counted, and its replay starts', async () => {
  await menu('Events')
  await page.getByRole('link', { name: 'Replay a range' }).click()
  await button('Replay 1 event').click()
  await button('Replay 1 event', dialog()).click()
  // An event of the last seconds waits until all events of that time are stored.
  await shows(/^[01] of 1 events dispatched/)
  replayPage = page.url()
})

test('a new domain shows its records, each with a button that copies it', async () => {
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
  await menu('Domains')
  await button('Add domain').click()
  await dialog().getByLabel('Domain').fill('shop.example.com')
  await button('Add domain', dialog()).click()
  await page.getByRole('heading', { name: 'shop.example.com' }).waitFor()
  await shows('DNS records')
  await button('Copy spf value').click()
  expect(await page.evaluate('navigator.clipboard.readText()')).toMatch(/^v=spf1 /)
})

test('a file of suppressions is imported, and its faulty line can be downloaded', async () => {
  await menu('Suppressions')
  await page.getByRole('link', { name: 'Import a file' }).click()
  await page.locator('input[type=file]').setInputFiles({
    name: 'gone.csv',
    mimeType: 'text/csv',
    buffer: Buffer.from('email\nann@example.com\nnot an address\nbob@example.com\n'),
  })
  await shows('2 new')
  await shows('line 3: not an address')
  await button('Import 2 addresses').click()
  await shows('finished, 4 of 4 lines. 2 added, 0 already suppressed, 1 not an address.')
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    button('Download the bad line', page.getByRole('region', { name: 'Import a file' })).click(),
  ])
  expect(download.suggestedFilename()).toBe('gone.csv.faults.csv')
  expect(await readFile(await download.path(), 'utf8')).toMatch(/^"line","text","why"\r\n3,"not an address",/)
  await menu('Suppressions')
  await shows('ann@example.com')
})

test('columns, states and reasons of a file are chosen by a click, and an import is undone', async () => {
  await page.getByRole('link', { name: 'Import a file' }).click()
  const panel = page.getByRole('region', { name: 'Import a file' })
  const choose = (text: string) =>
    page
      .locator('input[type=file]')
      .setInputFiles({ name: 'undone.csv', mimeType: 'text/csv', buffer: Buffer.from(text) })
  await choose('name,where\nAnn,nowhere\n')
  await shows('No column of the file has addresses. Its columns: name, where')
  await panel.getByLabel('Column of the addresses').selectOption('1')
  await shows('line 2: nowhere')
  await button('Cancel', panel).click()

  await choose(
    'owner email,email,status\nshop@example.org,undo@example.com,Bounced\nboss@example.org,cy@example.com,Delivered\n',
  )
  await shows('Several columns of the file may be the one of recipients.')
  await panel.getByLabel('Column of the addresses').selectOption({ label: '2. email' })
  await shows('Some rows may be of mailboxes that take mail.')
  await panel.getByText('Bounced 1', { exact: true }).click()
  await panel.getByLabel('Column of the reasons').selectOption('owner email')
  await shows('These are no reasons: shop@example.org')
  await choose('email,type,status\nundo@example.com,HardBounce,Bounced\ncy@example.com,,Delivered\n')
  await panel.getByText('Bounced 1', { exact: true }).click()
  await panel.getByLabel('Column of the reasons').selectOption('type')
  await shows('HardBounce 1')
  await shows('undo@example.com')
  await button('Import 1 address', panel).click()
  await shows('finished')
  await button('Undo import', panel).click()
  await button('Undo import', dialog()).click()
  await shows('Undone')
  await menu('Suppressions')
  await shows('ann@example.com')
  expect(await page.getByText('undo@example.com').count()).toBe(0)
})

test('after ten minutes a change needs the password', async () => {
  await installation.sql`update sessions set created_at = now() - interval '11 minutes', confirmed_at = null`
  await menu('Settings')
  await button('Create key').click()
  await dialog().getByLabel('Name').fill('Second')
  await button('Create key', dialog()).click()
  const question = page.getByRole('dialog', { name: 'Enter your password' })
  await question.waitFor()
  // The form is hidden below the question, and Escape ends the question alone.
  expect(await dialog().count()).toBe(1)
  await page.keyboard.press('Escape')
  await question.waitFor({ state: 'detached' })
  expect(await dialog().getByLabel('Name').inputValue()).toBe('Second')
  await button('Create key', dialog()).click()
  await question.getByLabel('Password', { exact: true }).fill('wrong password')
  await button('Continue', question).click()
  await question.getByRole('alert').waitFor()
  await question.getByLabel('Password', { exact: true }).fill(owner.password)
  await button('Continue', question).click()
  await shows('Copy the key now.')
  await button('I have copied the key').click()
})

/** Enters the password where the page asks for it because the session has ended. */
async function signInAgain() {
  const question = page.getByRole('dialog', { name: 'Your session has ended' })
  await question.waitFor()
  await page.keyboard.press('Escape')
  await question.getByLabel('Password', { exact: true }).fill(owner.password)
  await button(/^Sign in$/, question).click()
  await question.waitFor({ state: 'detached' })
}

test('a session that ends while a form is filled in asks for the password there, and nothing typed is lost', async () => {
  await button('Create key').click()
  await dialog().getByLabel('Name').fill('Third')
  await installation.sql`delete from sessions`
  await button('Create key', dialog()).click()
  await page.getByRole('dialog', { name: 'Your session has ended' }).waitFor()
  expect(await dialog().count()).toBe(1)
  expect(await axeFindings(page)).toEqual([])
  await signInAgain()
  await shows('Copy the key now.')
  await button('I have copied the key').click()
  await shows('Third', page.getByRole('main'))
})

test('a session that is revoked during an import asks for the password, and the import goes on', async () => {
  await page.goto(`${installation.ready.url}/dashboard/${owner.account}/suppressions/import`)
  await loaded(page)
  const lines = Array.from({ length: 25_000 }, (_, i) => `person${i}@example.com`)
  let parts = 0
  await page.route('**/AddPart', async (route) => {
    // The second part finds no session.
    if (++parts === 2) await installation.sql`delete from sessions`
    await route.continue()
  })
  const file = { name: 'many.txt', mimeType: 'text/plain', buffer: Buffer.from(lines.join('\n')) }
  await page.locator('input[type=file]').setInputFiles(file)
  await button('Import 25,000 addresses').click()
  await page.getByRole('dialog', { name: 'Your session has ended' }).waitFor()
  expect(await axeFindings(page)).toEqual([])
  await signInAgain()
  await shows('finished, 25,000 of 25,000 lines. 25,000 added, 0 already suppressed, 0 not an address.')
  await page.unroute('**/AddPart')
})

test('meanwhile the replay has reached the endpoint', async () => {
  await page.goto(replayPage)
  await shows('1 of 1 events dispatched, 1 acknowledged.')
  expect(receiver.requests.length).toBe(3)
})

test('while Temporal is away the overview says what goes on, what waits, and what the operator does', async () => {
  const resume = await installation.stopTemporal()
  try {
    await menu('Overview')
    await shows(/^Temporal does not respond\. Mail is sent.* Retries .* wait.* Your operator brings Temporal back/)
  } finally {
    resume()
  }
  await page.reload()
  await shows('All good.')
})

/** Invites a person on the page of the people. Returns the link. */
async function invite(email: string): Promise<string> {
  await page.goto(`${installation.ready.url}/dashboard/${owner.account}/settings/people`)
  await button('Invite person').click()
  await dialog().getByLabel('Email address').fill(email)
  await button('Create invitation', dialog()).click()
  return (await dialog().getByRole('region', { name: 'Link' }).textContent())!
}

/** Fills in the page of an invitation as a new person. */
async function acceptIn(opened: Page, link: string): Promise<void> {
  await opened.goto(link)
  await opened.getByLabel('Your name').fill('Ann')
  await opened.getByLabel('New password').fill('a password of Ann')
  await button('Accept invitation', opened).click()
}

test('the owner cannot accept an invitation that they made, and the invited person can', async () => {
  const link = await invite('ann@example.com')
  await acceptIn(page, link)
  await shows('You made this invitation, so you cannot accept it.')
  const { context } = await installation.browser.context(installation.ready.url)
  const ann = await context.newPage()
  await acceptIn(ann, link)
  await ann.waitForURL(/\/dashboard\/acc_/)
  await ann.goto(`${installation.ready.url}/dashboard/${owner.account}/settings`)
  await button('Create key', ann).click()
  await ann.getByRole('dialog').getByLabel('Name').fill('The program of Ann')
  await button('Create key', ann.getByRole('dialog')).click()
  await button('I have copied the key', ann).click()
  await shows('The program of Ann', ann.getByRole('main'))
  await context.close()
})

test('a person who has a sign-in accepts with its password only', async () => {
  const link = await invite('bob@example.com')
  const { context } = await installation.browser.context(installation.ready.url)
  const bob = await context.newPage()
  await bob.goto(link)
  await button('I already have a sign-in with this address', bob).click()
  expect(await bob.getByLabel('Your name').count()).toBe(0)
  await bob.getByLabel('Your password').fill('a password of Bob')
  await button('Accept invitation', bob).click()
  await shows('This is not the password of a sign-in with this address.', bob)
  await context.close()
})

test('who removes a person sees the keys that they created, and can revoke them', async () => {
  await page.goto(`${installation.ready.url}/dashboard/${owner.account}/settings/people`)
  await button('Remove Ann').click()
  await shows('The program of Ann', dialog())
  expect(await dialog().getByText('Shop').count()).toBe(0)
  await dialog().getByLabel('Revoke this key').check()
  await dialog().getByLabel('Type ann@example.com to confirm').fill('ann@example.com')
  expect(await axeFindings(page)).toEqual([])
  await button('Remove person', dialog()).click()
  await dialog().waitFor({ state: 'detached' })
  await page.getByRole('link', { name: 'API keys' }).click()
  await page.getByText('Revoked and expired keys').click()
  await shows('Revoked', page.getByRole('row', { name: /The program of Ann/ }))
})

test('an expired invitation says so', async () => {
  const link = await invite('ann@example.com')
  await installation.sql`update invitations set expires_at = now() - interval '1 second'`
  await page.goto(link)
  await shows('This link no longer works')
})

test('the pages asked no other origin, and nothing met their policy', () => {
  expect(faults).toEqual([])
})
