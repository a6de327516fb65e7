import type { Locator, Page } from 'playwright-core'
import { beforeAll, expect, test } from 'vitest'
import { parsePublicId } from '../../../server/db/ids.ts'
import { type Receiver, startReceiver } from '../../harness/receiver.ts'
import { untilEnd } from '../../harness/until-end.ts'
import { mailText } from '../../notices/mail-text.ts'
import { type Aiosmtpd, startAiosmtpd } from '../aiosmtpd.ts'
import { eventually } from '../daemon.ts'
import { axeFindings, loaded } from './browser.ts'
import { type Installation, startInstallation } from './installation.ts'
import { type Owner, openOwner } from './owner.ts'

// People who are notified, at a real mailbox and a chat. Each test goes on where the one before it ended.

/** The service looks every 15 seconds, and sends every 2. */
const NOTICED_MS = 40_000

let installation: Installation
let mailbox: Aiosmtpd
let chat: Receiver
let page: Page
let owner: Owner
let faults: string[]

beforeAll(async () => {
  mailbox = await startAiosmtpd()
  chat = untilEnd(await startReceiver())
  installation = untilEnd(
    await startInstallation({
      NOTIFY_FROM: 'verdict@example.test',
      SMTP_ROUTES: `example.test=127.0.0.1:${mailbox.port}`,
      WEBHOOK_ALLOW_SUBNETS: '127.0.0.0/8',
    }),
  )
  ;({ faults, page, owner } = await openOwner(installation))
}, 300_000)

const shows = (text: string | RegExp, within: Page | Locator = page) => within.getByText(text).first().waitFor()
const button = (name: string, within: Page | Locator = page) => within.getByRole('button', { name, exact: true })
const accountId = () => parsePublicId('acc', owner.account)!

async function openSettings(): Promise<void> {
  await page.goto(`${installation.ready.url}/dashboard/${owner.account}/settings/notifications`)
  await loaded(page)
}

let mails = 0

/** The text of the next mail. */
async function nextMail(): Promise<string> {
  const wanted = ++mails
  await eventually(async () => ((await mailbox.count('all')) >= wanted ? true : undefined), NOTICED_MS)
  return mailText(await mailbox.mail('all', wanted))
}

let posts = 0

/** The text of the next post to the chat. */
async function nextPost(): Promise<string> {
  const wanted = ++posts
  const request = await eventually(async () => chat.requests[wanted - 1], NOTICED_MS)
  return JSON.parse(request.body.toString()).text
}

test('the owner sees their choices, and sets and tests the URL of a chat', async () => {
  await openSettings()
  await page.getByLabel('A webhook endpoint fails').waitFor()
  expect(await page.getByRole('checkbox', { checked: true }).count()).toBeGreaterThan(0)
  expect(await page.getByRole('checkbox', { checked: false }).count()).toBe(0)
  await page.getByLabel('URL', { exact: true }).fill(`http://127.0.0.1:${chat.port}/services/secret`)
  await button('Set URL').click()
  await shows(`http://127.0.0.1:${chat.port}/…`)
  chat.script = { body: 'ok' }
  await button('Send a test').click()
  await shows('Arrived')
  expect(await nextPost()).toMatch(/^This is a test of Verdict\./)
  expect(await page.getByText('secret').count()).toBe(0)
  expect(await axeFindings(page)).toEqual([])
})

test('an open breaker is mailed and posted, marked in the menu, and listed', async () => {
  await installation.sql`
    insert into breakers (account_id, domain, state, cause, changed_at, base_emails, base_bounces, base_complaints)
    values (${accountId()}, 'example.test', 'open', 'bounces', now(), 0, 0, 0)`
  const mail = await nextMail()
  expect(mail).toContain('Subject: Sending from example.test is paused')
  expect(mail).toContain('To: owner@example.test')
  expect(mail).toMatch(/^DKIM-Signature: /m)
  const link = /http\S+\/domains\/dom_\w+/.exec(mail)![0]
  expect(await nextPost()).toContain(link)
  await page.getByRole('img', { name: 'Something is wrong with example.test' }).first().waitFor()
  await openSettings()
  await expect.poll(() => page.getByText('Sending from example.test is paused').count()).toBeGreaterThanOrEqual(2)
  await shows('Notification URL', page.getByRole('table', { name: 'Notifications' }))
  await shows('Olga Owner', page.getByRole('table', { name: 'Notifications' }))
  expect(await axeFindings(page)).toEqual([])
  await page.goto(link)
  await page.getByRole('heading', { name: 'example.test' }).waitFor()
})

test('its end is mailed and posted, and the mark goes', async () => {
  await installation.sql`update breakers set state = 'closed'`
  expect(await nextMail()).toContain('Subject: Sending from example.test is no longer paused')
  expect(await nextPost()).toContain('admits all mail of example.test again')
  await page
    .getByRole('img', { name: /Something is wrong/ })
    .first()
    .waitFor({ state: 'detached' })
})

test('an endpoint that fails for five minutes is mailed, and that it works again', async () => {
  const receiver = await startReceiver()
  receiver.script = { status: 503 }
  const { ready, send, sql } = installation
  await fetch(`${ready.url}/api/v1/webhook`, {
    method: 'PUT',
    headers: { authorization: `Bearer ${ready.keys.live}`, 'content-type': 'application/json' },
    body: JSON.stringify({ url: receiver.url }),
  })
  await send({ to: 'delivered@simulator.test' })
  const late = () => sql`
    update open_dispatches set created_at = created_at - interval '6 minutes' where attempt > 1 returning id`
  await eventually(async () => ((await late()).length > 0 ? true : undefined), NOTICED_MS)
  const mail = await nextMail()
  expect(mail).toContain(`Your webhook endpoint at 127.0.0.1:${receiver.port} fails`)
  expect(mail).toContain('One event waits for it.')
  expect(mail).not.toContain('delivered@simulator.test')
  await nextPost()
  receiver.script = {}
  await send({ to: 'delivered@simulator.test' })
  expect(await nextMail()).toContain('works again')
  await nextPost()
  await receiver.close()
})

test('a choice is kept', async () => {
  await openSettings()
  await page.getByLabel('Sending from a domain is paused').uncheck()
  await page.reload()
  await loaded(page)
  expect(await page.getByLabel('Sending from a domain is paused').isChecked()).toBe(false)
  expect(await page.getByRole('checkbox', { checked: false }).count()).toBe(1)
})

test('a forgotten password is reset by the link of a mail, and signs in', async () => {
  const { context } = await installation.browser.context(installation.ready.url)
  const other = await context.newPage()
  await other.goto(`${installation.ready.url}/dashboard/sign-in`)
  await other.getByRole('link', { name: 'Forgot password?' }).click()
  await other.getByLabel('Email address').waitFor()
  expect(await axeFindings(other)).toEqual([])
  await other.getByLabel('Email address').fill(owner.email)
  await button('Mail a link', other).click()
  await shows(/If owner@example\.test has a sign-in, a mail is on its way\./, other)
  const mail = await nextMail()
  const link = /http\S+\/dashboard\/reset\/[\w-]+/.exec(mail)![0]
  await other.goto(link)
  await other.getByLabel('New password').waitFor()
  expect(await axeFindings(other)).toEqual([])
  await other.getByLabel('New password').fill('a new password of Olga')
  await button('Set password', other).click()
  await other.waitForURL(/\/dashboard\/acc_/)
  await page.goto(`${installation.ready.url}/dashboard/${owner.account}`)
  await page.waitForURL(/\/sign-in/)
  await page.goto(link)
  await shows('This link no longer works')
  expect(await axeFindings(page)).toEqual([])
  page = other
})

test('an invitation is mailed, and its link proves the address', async () => {
  await page.goto(`${installation.ready.url}/dashboard/${owner.account}/settings/people`)
  await button('Invite person').click()
  const dialog = page.getByRole('dialog').last()
  await dialog.getByLabel('Email address').fill('ann@example.test')
  await button('Create invitation', dialog).click()
  await shows(/A mail with a link is on its way to/)
  await button('Done').click()
  const link = /http\S+\/dashboard\/invitation\/[\w-]+/.exec(await nextMail())![0]
  const { context } = await installation.browser.context(installation.ready.url)
  const ann = await context.newPage()
  await ann.goto(link)
  await ann.getByLabel('Your name').fill('Ann')
  await ann.getByLabel('New password').fill('a password of Ann')
  await button('Accept invitation', ann).click()
  await ann.waitForURL(/\/dashboard\/acc_/)
  const [row] = await installation.sql`select email_verified from people where email = 'ann@example.test'`
  expect(row).toEqual({ email_verified: true })
  await context.close()
})

test('nothing of these mails is in the lists of the account, and the pages asked no other origin', async () => {
  const { ready } = installation
  const headers = { authorization: `Bearer ${ready.keys.live}` }
  const list = async (path: string) =>
    JSON.stringify(await (await fetch(`${ready.url}/api/v1/${path}`, { headers })).json())
  for (const path of ['emails', 'events', 'stats']) expect(await list(path)).not.toMatch(/owner@|ann@example/)
  expect(faults).toEqual([])
})
