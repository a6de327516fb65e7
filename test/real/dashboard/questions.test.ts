import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Locator, Page } from 'playwright-core'
import { beforeAll, expect, test } from 'vitest'
import { parsePublicId, publicId } from '../../../server/db/ids.ts'
import { temporaryFolder, untilEnd } from '../../harness/until-end.ts'
import { runDemo } from './demo.ts'
import { type Installation, startInstallation } from './installation.ts'
import { openOwner } from './owner.ts'

// Questions of support staff. A person who looks at the overview has the answer to each within three clicks. A search
// is one: the key `/`, the text and Enter.

const MOST_CLICKS = 3
const QUOTA = 10_000

let folder: string
let installation: Installation
let page: Page
let faults: string[]
let account: string
let overview: string

beforeAll(async () => {
  folder = temporaryFolder()
  const tiers = join(folder, 'tiers.json')
  await writeFile(
    tiers,
    JSON.stringify({ tiers: { unlimited: { requests_per_minute: 1_000_000, emails_per_month: QUOTA } } }),
  )
  installation = untilEnd(await startInstallation({ TIERS_FILE: tiers }))
  ;({ page, faults } = await openOwner(installation, { viewport: { width: 1440, height: 900 } }))
  account = await runDemo(installation)
  overview = `${installation.ready.url}/dashboard/${account}`
  await storeWeekBefore()
}, 300_000)

const accountId = () => parsePublicId('acc', account)!

/** The demo has one week. The statistics of the week before are the same, without the emails to full mailboxes. */
async function storeWeekBefore(): Promise<void> {
  const { sql } = installation
  const columns = await sql<{ name: string }[]>`
    select column_name as name from information_schema.columns
    where table_name = 'hourly_stats' and column_name not in ('hour', 'mailbox_full')`
  const names = columns.map(({ name }) => name).join(', ')
  await sql.unsafe(
    `insert into hourly_stats (hour, mailbox_full, ${names})
    select hour - interval '7 days', 0, ${names} from hourly_stats where account_id = $1 and hour > now() - interval '7 days'`,
    [accountId()],
  )
}

let clicks: number

async function click(target: Locator): Promise<void> {
  clicks++
  await target.click()
}

async function search(text: string): Promise<void> {
  clicks++
  await page.keyboard.press('/')
  await page.keyboard.type(text)
  await page.keyboard.press('Enter')
}

/** A test that begins on the overview, and counts what the person does. */
function question(words: string, answer: () => Promise<void>): void {
  test(words, async () => {
    await page.goto(overview)
    await page.getByRole('list', { name: 'Figures' }).getByRole('link').first().waitFor()
    clicks = 0
    await answer()
    expect(clicks).toBeGreaterThan(0)
    expect(clicks).toBeLessThanOrEqual(MOST_CLICKS)
  })
}

const main = () => page.getByRole('main')
const shows = (text: string | RegExp, within: Locator = main()) => within.getByText(text).first().waitFor()
const button = (name: string) => page.getByRole('button', { name, exact: true })
const rail = (name: string) => page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name })
/** The rows of the list, without its heading. */
const rows = () =>
  main()
    .getByRole('row')
    .filter({ has: page.getByRole('cell') })

question('Did ivan get it?', async () => {
  const [ivan] = await installation.sql<[{ email: string }]>`
    select email from recipients where account_id = ${accountId()} and email like 'ivan.%'
    group by email having bool_and(status = 'delivered') order by max(message_id::text) desc limit 1`
  await search(ivan.email)
  await page.waitForURL(/recipient=ivan/)
  await shows(ivan.email, rows().first())
  await shows('Delivered', rows().first())
})

question('Did it come back later?', async () => {
  const [back] = await installation.sql<[{ email: string; detail: string }]>`
    select recipient as email, detail from feedback
    where account_id = ${accountId()} and kind = 'late_bounce' and not is_member order by id desc limit 1`
  await search(back.email)
  const row = rows().filter({ hasText: 'Came back' }).first()
  await shows(back.email, row)
  await shows('Delivered', row)
  await click(row.getByRole('link'))
  const outcome = page.getByRole('region', { name: 'Outcome' })
  await shows(/^The message came back/, outcome)
  await shows(back.detail, outcome)
  expect(await outcome.textContent()).toMatch(/^Came back/)
  const steps = outcome.getByRole('list', { name: 'What happened when' }).locator('strong')
  expect(await steps.allTextContents()).toEqual(['Asked', 'Answered', 'Came back'])
})

question('Which mails came back this week?', async () => {
  await click(button('7 days'))
  await click(page.getByRole('list', { name: 'Reasons' }).getByRole('link', { name: 'Came back after delivery' }))
  await page.waitForURL(/feedback=late_bounce/)
  await shows('Came back', rows().first())
})

question('Does Outlook refuse us?', async () => {
  await click(button('7 days'))
  const outlook = main().getByRole('row').filter({ hasText: 'Microsoft (Outlook)' })
  await shows(/^[A-Z][a-z ]+ \(\d+\)$/, outlook)
  await click(outlook.getByRole('link', { name: 'Microsoft (Outlook)' }))
  await page.waitForURL(/bounced_by=microsoft/)
  await shows('Bounced by')
  const refused = rows().filter({ hasText: 'Refused for now' }).first()
  await refused.waitFor()
  expect(await rows().getByText('Delivered', { exact: true }).count()).toBe(0)
  await click(refused.getByRole('link'))
  await shows(/refused it for now|makes senders wait/)
  await shows(/\.mail\.protection\.outlook\.com/)
})

question('A part of an address, an order in the metadata, an id that was cut: one box finds each', async () => {
  const [message] = await installation.sql<[{ id: string; email: string; order: string }]>`
    select m.id, r.email, m.request -> 'metadata' ->> 'order' as order
    from messages m join recipients r on r.message_id = m.id
    where m.account_id = ${accountId()} and m.request -> 'metadata' ->> 'order' is not null
    order by m.id desc limit 1`
  const local = message.email.split('@')[0]!
  const id = publicId('msg', message.id)
  const options = page.getByRole('listbox', { name: 'Ways to search' }).getByRole('option')
  clicks++
  for (const [text, way] of [
    [local, `addresses that begin ${local}`],
    [message.order, `metadata order=${message.order}`],
    [id.slice(0, 16), `id begins ${id.slice(0, 16)}`],
  ] as const) {
    await page.getByRole('combobox', { name: /^Search/ }).fill(text)
    await shows(/^\d+\+?$/, options.filter({ hasText: way }))
    // Once all are counted, what finds nothing is last.
    const counts = () => options.locator('span:last-child').allTextContents()
    await expect.poll(async () => (await counts()).join(' ')).toMatch(/^(?:[1-9]\d*\+? ?)*(?:0\+? ?)*$/)
  }
  await page.keyboard.press('Enter')
  await page.waitForURL(/from=/)
  await shows(message.email, rows().first())
})

question('Which mails about order 4102?', async () => {
  const [{ order, count }] = await installation.sql<[{ order: string; count: number }]>`
    select request -> 'metadata' ->> 'order' as order, count(*)::int from messages
    where account_id = ${accountId()} and request ->> 'subject' like '%rder%'
    group by 1 order by 2 desc, 1 limit 1`
  await search(`order ${order}`)
  await page.waitForURL(/subject=order/)
  await expect.poll(() => rows().filter({ hasText: order }).count()).toBe(count)
  expect(await rows().count()).toBe(count)
})

question('Are we worse than last week?', async () => {
  await click(button('7 days'))
  const bounced = page.getByRole('list', { name: 'Figures' }).getByRole('link', { name: /^Bounced/ })
  await shows(/^\+\d\.\d+ points from the period before$/, bounced)
})

question('Why was this one bounced, and what do I do?', async () => {
  await click(page.getByRole('list', { name: 'Figures' }).getByRole('link', { name: /^Bounced/ }))
  await page.waitForURL(/status=bounced/)
  await rows().first().waitFor()
  const word = await rows().first().getByText(REASON).textContent()
  await click(rows().first().getByRole('link'))
  const [sentence, advice] = ANSWERS[word!]!
  const outcome = page.getByRole('region', { name: 'Outcome' })
  await shows(sentence, outcome)
  await shows(advice, outcome)
})

const ANSWERS: Record<string, [sentence: RegExp, advice: RegExp]> = {
  'Mailbox full': [/is full\./, /send it again later/],
  'No such mailbox': [/has no mailbox/i, /Check the spelling/],
  'No connection': [/could be reached in time/, /send it again later/],
  'Blocked by policy': [/refused it because of its rules/, /Its own words below say which rule/],
  'Refused as spam': [/takes the content for spam/, /Change the content/],
  'Refused for now': [/refused it for now|\(greylisting\)/, /send it again in a few minutes/i],
}
const REASON = new RegExp(`^(?:${Object.keys(ANSWERS).join('|')})$`)

question('Did my endpoint get the event of this message?', async () => {
  const [message] = await installation.sql<[{ id: string }]>`
    select id from messages where account_id = ${accountId()} and not sandbox order by id desc offset 20 limit 1`
  await search(publicId('msg', message.id))
  const event = page.getByRole('article').first()
  await shows('Acknowledged', event)
  await shows('HTTP 200', event)
})

question('Is this address suppressed, and why?', async () => {
  const [entry] = await installation.sql<[{ email: string; detail: string }]>`
    select email, detail from suppressions
    where account_id = ${accountId()} and reason = 'bounce' and tenant_id = '' and detail <> ''
      and evidence ->> 'kind' = 'EVIDENCE_KIND_UNKNOWN'
    order by id desc limit 1`
  await page.keyboard.press('/')
  await page.keyboard.type(entry.email)
  await click(page.getByRole('option', { name: `Suppressions of ${entry.email}` }))
  await page.waitForURL(/suppressions\?email=/)
  const row = rows().filter({ hasText: entry.email }).first()
  await shows('No such mailbox', row)
  await shows('Read as mailbox (unknown)', row)
  await shows(entry.detail.split('>: ').at(-1)!, row)
  await click(row.getByRole('link', { name: 'No such mailbox' }))
  await shows(entry.email)
  await page.getByRole('region', { name: 'Outcome' }).waitFor()
})

question('Which tenant is complained about?', async () => {
  const [tenant] = await installation.sql<[{ id: string; complaints: number }]>`
    select tenant_id as id, count(*)::int as complaints from events
    where account_id = ${accountId()} and feedback = 'complaint' and tenant_id is not null
    group by 1 order by 2 desc limit 1`
  await click(button('7 days'))
  await click(page.getByRole('tab', { name: 'Tenant' }))
  const row = main().getByRole('row').filter({ hasText: tenant.id })
  await click(row.getByRole('link', { name: String(tenant.complaints), exact: true }))
  await page.waitForURL(/events\?.*feedback=complaint/)
  await expect.poll(() => rows().count()).toBe(tenant.complaints)
  expect(await rows().filter({ hasText: 'Complaint' }).count()).toBe(tenant.complaints)
})

question('Did the events of yesterday’s outage go out in the end?', async () => {
  await click(rail('Events'))
  await page.waitForURL(/\/events$/)
  await click(button('7 days'))
  await shows('Your endpoint acknowledged every event of the last 7 days that it asks for.')
})

question('How much of this month’s quota is used?', async () => {
  await click(rail('Settings'))
  await click(page.getByRole('link', { name: 'Limits', exact: true }))
  await page.waitForURL(/\/limits$/)
  await shows(/^[\d,]+ of 10,000 emails\./)
})

test('an empty inbox shows a command that this account can run', async () => {
  await page.goto(`${overview}/inbox`)
  await shows(/"from":"hello@(news\.)?shop\.example"/)
})

test('the limits say that a domain that is not verified may send nothing', async () => {
  await page.goto(`${overview}/settings/limits`)
  const row = page.getByRole('row', { name: 'invoices.shop.example' })
  await expect.poll(() => row.textContent()).toMatch(/0None.*Not verified/)
})

test('at 1024 px the value of every DNS record is shown whole', async () => {
  await page.setViewportSize({ width: 1024, height: 900 })
  await page.goto(`${overview}/domains`)
  await page.getByRole('link', { name: 'invoices.shop.example' }).click()
  await shows('v=DKIM1')
  const hidden = "[...document.querySelectorAll('td code')].map((value) => value.scrollHeight - value.clientHeight)"
  expect(await page.evaluate(hidden)).toEqual(Array(16).fill(0))
})

test('the pages asked no other origin', () => {
  expect(faults).toEqual([])
})
