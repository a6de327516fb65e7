import { readFile } from 'node:fs/promises'
import type { Locator, Page } from 'playwright-core'
import { beforeAll, expect, test } from 'vitest'
import { newId, parsePublicId } from '../../../server/db/ids.ts'
import { untilEnd } from '../../harness/until-end.ts'
import { axeFindings } from './browser.ts'
import { firstDomain, type Installation, startInstallation } from './installation.ts'
import { openOwner } from './owner.ts'

// What the list of messages and the page of a message say about one of several recipients.

let installation: Installation
let page: Page
let faults: string[]
let list: string

beforeAll(async () => {
  installation = untilEnd(await startInstallation({ STORE_CONTENT: 'true' }))
  const opened = await openOwner(installation)
  ;({ page, faults } = opened)
  list = `${installation.ready.url}/dashboard/${opened.account}/messages`
}, 240_000)

const shows = (text: string | RegExp, within: Page | Locator = page) => within.getByText(text).first().waitFor()

/** The height of the window, in pixels. */
const HEIGHT = 900

/** The time between two calls of a list. */
const POLL_MS = 5_000

const FULL = 'mailbox_full@simulator.test'
const DELIVERED = 'delivered@simulator.test'

test('a list filtered by an address shows what became of that address', async () => {
  await installation.send({ to: [FULL, DELIVERED], subject: 'Two copies' })
  const row = page.getByRole('row').filter({ hasText: 'Two copies' })
  for (const [recipient, status] of [
    [undefined, 'Bounced'],
    [DELIVERED, 'Delivered'],
    [FULL, 'Bounced'],
  ] as const) {
    await page.goto(recipient === undefined ? list : `${list}?${new URLSearchParams({ recipient })}`)
    await shows(status, row)
    await shows(recipient ?? FULL, row)
    await shows('1 of 2 bounced', row)
  }
})

test('at 1024 px the subject keeps most of its room', async () => {
  const to = [`${'a'.repeat(50)}@simulator.test`, `${'b'.repeat(60)}@simulator.test`]
  const subject = 'Your order 4102 has been shipped and arrives on Friday'
  await installation.send({ to, subject })
  await page.setViewportSize({ width: 1024, height: 800 })
  await page.goto(list)
  const cell = page.getByRole('row').filter({ hasText: subject }).getByRole('cell').nth(2)
  // About 40 characters.
  expect((await cell.boundingBox())!.width).toBeGreaterThan(280)
  await page.setViewportSize({ width: 1440, height: HEIGHT })
})

test('the page of a message opens the recipient that failed, and sends again to that one only', async () => {
  const id = await installation.send({ to: [DELIVERED, FULL], subject: 'The second copy' })
  await page.goto(`${list}/${id}`)
  const main = page.getByRole('main')
  await shows('452 4.2.2', main)
  await shows('This sends a new message to', main)
  expect(await main.getByText(`"to": [\n    "${FULL}"`).count()).toBe(1)
  await main.getByRole('link', { name: 'All messages to this address' }).click()
  await page.waitForURL(/recipient=mailbox_full/)
  await page.getByRole('row').filter({ hasText: 'The second copy' }).getByRole('link').click()
  await main.getByRole('link', { name: 'Older' }).click()
  await page.getByRole('heading', { level: 1, name: 'Two copies' }).waitFor()
  await main.getByRole('link', { name: 'Newer' }).click()
  await page.getByRole('heading', { level: 1, name: 'The second copy' }).waitFor()
  await main.getByRole('link', { name: 'Messages', exact: true }).click()
  await page.waitForURL(/recipient=mailbox_full/)
})

test('a message is sent again from its page to those who did not get it, and a person in the audit log did it', async () => {
  const id = await installation.send({ to: [DELIVERED, 'temporary_failure@simulator.test'], subject: 'Once more' })
  await page.goto(`${list}/${id}`)
  const main = page.getByRole('main')
  await main.getByRole('button', { name: 'Send again' }).click()
  const dialog = page.getByRole('dialog')
  await shows('The same message is tried again.', dialog)
  expect(await dialog.getByRole('checkbox').count()).toBe(1)
  expect(await axeFindings(page)).toEqual([])
  await dialog.getByRole('button', { name: 'Send again' }).click()
  await page.waitForURL((url) => url.pathname.includes('/messages/msg_') && !url.pathname.endsWith(id))
  await shows('Retry of', main)
  expect(await main.getByText(DELIVERED).count()).toBe(0)
  await page.goto(`${list}/${id}`)
  await main.getByRole('link', { name: 'the newest try' }).click()
  await page.waitForURL((url) => !url.pathname.endsWith(id))
  await page.goto(list.replace(/messages$/, 'settings/audit'))
  await shows('Sent an email to', main)
  expect(faults).toEqual([])
})

test('a suppressed recipient is told on the page of its message, and can be mailed again from there', async () => {
  const { ready } = installation
  const to = 'ann@example.net'
  const headers = { authorization: `Bearer ${ready.keys.live}`, 'content-type': 'application/json' }
  const body = JSON.stringify({ email: to })
  expect((await fetch(`${ready.url}/api/v1/suppression`, { method: 'POST', headers, body })).status).toBe(200)
  const id = await installation.send({ to, subject: 'Suppressed' })
  await page.goto(`${list}/${id}`)
  const main = page.getByRole('main')
  await shows('because of an entry made by hand', main)
  await main.getByRole('button', { name: `Remove ${to}` }).click()
  await expect.poll(() => main.getByText('because of an entry').count()).toBe(0)
  expect(faults).toEqual([])
})

test('a suppressed address says why, and the bounces of a time are lifted after a look at them', async () => {
  const account = parsePublicId('acc', list.split('/').at(-2)!)!
  const reply = 'No such user here'
  const evidence = {
    kind: 'EVIDENCE_KIND_UNKNOWN',
    decided_by: 'DECIDED_BY_WORDS',
    words: 'No such user here',
    code: 550,
    reply,
    read_as: 'mailbox (unknown)',
    last_delivered_at: new Date(Date.now() - 3 * 86_400_000).toISOString(),
  }
  for (const [email, reason] of [
    ['ann@bad.example', 'bounce'],
    ['bob@bad.example', 'bounce'],
    ['cy@bad.example', 'complaint'],
  ] as const) {
    const row = { id: newId(Date.now()), account_id: account, tenant_id: '', email, reason, detail: `550 ${reply}` }
    await installation.sql`insert into suppressions ${installation.sql({ ...row, evidence: installation.sql.json(evidence) })}`
  }
  await page.goto(list.replace(/messages$/, 'suppressions?range=1h&domain=bad.example'))
  const row = page.getByRole('row').filter({ hasText: 'ann@bad.example' })
  await shows('No such mailbox', row)
  await shows('by its words “No such user here”. Last delivered', row)
  await page.getByRole('button', { name: 'Lift bounces of this time' }).click()
  const dialog = page.getByRole('dialog')
  await shows('bob@bad.example', dialog)
  expect(await axeFindings(page)).toEqual([])
  await dialog.getByRole('button', { name: 'Lift 2 entries' }).click()
  await expect.poll(() => row.count()).toBe(0)
  await shows('cy@bad.example')
  expect(faults).toEqual([])
})

test('a refused send is found by its recipient, and by the overview', async () => {
  const { ready } = installation
  const headers = { authorization: `Bearer ${ready.keys.live}`, 'content-type': 'application/json' }
  const [to, from] = ['zoe.larsson@example.com', 'hello@not-ours.example']
  const body = JSON.stringify({ to, from, subject: 'Reset', text: 'Hi' })
  for (let sends = 0; sends < 2; sends++)
    expect((await fetch(`${ready.url}/api/v1/emails/send`, { method: 'POST', headers, body })).status).toBe(403)
  await expect
    .poll(() => installation.sql`select sum(count)::int as sends from refused_sends where ${to} = any(recipients)`)
    .toEqual([{ sends: 2 }])
  await page.goto(list)
  await page.getByRole('combobox', { name: /^Search/ }).fill(to)
  await shows('1', page.getByRole('option', { name: /^Refused sends to zoe.larsson@example.com/ }))
  await page.keyboard.press('Enter')
  await page.waitForURL(/refused-sends\?recipient=zoe/)
  const row = page.getByRole('row').filter({ hasText: to })
  await shows('2 times', row)
  await shows('The domain of from is not a domain of the account.', row)
  await page.goto(list.replace(/messages$/, ''))
  await page.getByRole('link', { name: /^2 sends of the last 24 hours ended with an error/ }).click()
  await page.getByRole('row').filter({ hasText: to }).waitFor()
  expect(await axeFindings(page)).toEqual([])
  expect(faults).toEqual([])
})

test('a paused domain says why and until when, and an owner resumes it with a reason', async () => {
  const account = parsePublicId('acc', list.split('/').at(-2)!)!
  const { sql } = installation
  await sql`
    insert into hourly_stats (account_id, tenant_id, hour, domain, delivered, mailbox_does_not_exist)
    values (${account}, '', date_trunc('hour', now(), 'UTC') - interval '1 hour', 'example.test', 102, 109)`
  await sql`
    insert into breakers (account_id, domain, state, cause, changed_at, base_emails, base_bounces, base_complaints)
    values (${account}, 'example.test', 'open', 'bounces', now(), 0, 0, 0)`
  const path = `domains/${await firstDomain(installation)}`
  await page.goto(list.replace(/messages$/, path))
  const main = page.getByRole('main')
  await shows(/^Every send has been refused since/, main)
  await shows('109 of 211 emails', main)
  await shows('51.7 %', main)
  await main.getByRole('button', { name: 'Resume now' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('What has changed').fill('We removed the addresses that bounced')
  expect(await axeFindings(page)).toEqual([])
  await dialog.getByRole('button', { name: 'Resume sending' }).click()
  await shows(/^After a pause, ten emails a minute/, main)
  expect(await main.getByRole('button', { name: 'Resume now' }).count()).toBe(0)
  await page.goto(list.replace(/messages$/, 'settings/audit'))
  await shows('Resumed sending from', main)
  await sql`delete from breakers where account_id = ${account}`
  await sql`delete from hourly_stats where account_id = ${account} and mailbox_does_not_exist = 109`
  expect(faults).toEqual([])
})

test('an event opens at its own entry on the page of its message, under Events', async () => {
  await page.goto(list.replace(/messages$/, 'events'))
  await page.getByRole('main').getByRole('row').nth(1).getByRole('link').click()
  await page.waitForURL(/event=evt_/)
  const rail = page.getByRole('navigation', { name: 'Pages' })
  expect(await rail.locator('[aria-current=page]').allTextContents()).toEqual([expect.stringContaining('Events')])
  const top = async () => (await page.getByRole('article').first().boundingBox())!.y
  await expect.poll(top).toBeLessThan(HEIGHT)
  await page.getByRole('main').getByRole('link', { name: 'Events', exact: true }).click()
  await page.waitForURL(/\/events$/)
})

test('each list is exported with its filters, a line for each recipient', async () => {
  const exported = async (path: string) => {
    await page.goto(list.replace(/messages$/, path))
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Export', exact: true }).click(),
    ])
    return (await readFile(await download.path(), 'utf8')).trimEnd().split('\r\n')
  }
  const [head, ...messages] = await exported('messages')
  expect(head).toBe(
    '"message_id","sent_at","from","recipient","kind","status","reason","in_doubt","subject","tag","tenant_id","dry_run","feedback"',
  )
  expect(messages).toHaveLength(10)
  expect(messages.filter((line) => line.includes(`"${FULL}","to","bounced","mailbox_full",false`))).toHaveLength(2)
  const toDelivered = await exported(`messages?${new URLSearchParams({ recipient: DELIVERED })}`)
  expect(toDelivered.slice(1).map((line) => line.includes(`"${DELIVERED}","to","delivered",,false`))).toEqual([
    true,
    true,
    true,
  ])
  expect(await exported('events')).toHaveLength(11)
  expect((await exported('suppressions'))[0]).toContain('"email","scope"')
  expect(await exported('refused-sends')).toEqual([
    '"request_id","at","status","error","message","from","recipients","key_id","protocol","count"',
    expect.stringContaining('"zoe.larsson@example.com"'),
  ])
  expect(faults).toEqual([])
})

test('the page of a message leads to a newer one with its subject to the same address', async () => {
  const bounced = await installation.send({ to: [FULL], subject: 'Reset your password' })
  const other = await installation.send({ to: [FULL], subject: 'Your password: reset' })
  const newer = await installation.send({ to: [FULL, DELIVERED], subject: 'Reset your password' })
  await page.goto(`${list}/${other}`)
  const main = page.getByRole('main')
  await main.getByRole('button', { name: 'Send again' }).waitFor()
  await page.goto(`${list}/${bounced}`)
  await shows('to the same address: Bounced', main)
  await main.getByRole('link', { name: 'A newer message with this subject' }).click()
  await page.waitForURL((url) => url.pathname.endsWith(newer))
  expect(await main.getByRole('link', { name: 'A newer message with this subject' }).count()).toBe(0)
  expect(faults).toEqual([])
})

test('new rows wait for a click, and a list with more of them than it counts asks no more until then', async () => {
  const calls: string[] = []
  page.on('request', (request) => calls.push(request.url().split('/').at(-1)!))
  const polls = () => calls.filter((method) => method === 'ListEvents').length
  await page.clock.install()
  await page.goto(list.replace('messages', 'events'))
  await shows(FULL)
  const to = Array.from({ length: 50 }, (_, number) => `delivered+${number}@simulator.test`)
  const later = async (ms: number) => {
    await page.clock.runFor(ms)
    await page.waitForLoadState('networkidle')
  }

  await installation.send({ to: 'delivered+one@simulator.test', subject: 'One more' })
  await later(POLL_MS)
  await shows('Show 1 new')
  await installation.send({ to, subject: 'Fifty more' })
  await later(POLL_MS)
  await shows('Show 50+ new')
  const before = polls()
  await later(10 * POLL_MS)
  expect(polls()).toBe(before)
  await page.getByRole('button', { name: 'Show 50+ new' }).click()
  await shows(to[0]!)
  await later(POLL_MS)
  await expect.poll(polls).toBeGreaterThan(before + 1)
  await page.clock.resume()
})
