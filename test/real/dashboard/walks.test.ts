import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { Page } from 'playwright-core'
import { beforeAll, expect, test } from 'vitest'
import { untilEnd } from '../../harness/until-end.ts'
import { axeFindings, loaded } from './browser.ts'
import { firstDomain, firstInInbox, type Installation, startInstallation, storeReplay } from './installation.ts'
import { type Owner, openOwner } from './owner.ts'
import { type Ids, PAGES, pathOf } from './pages.ts'

// Walks through all pages: by the roles other than the owner, with a screen reader, after an erasure; and the rotation
// of keys.

let installation: Installation
let owner: Owner
let faults: string[]
let page: Page
let ids: Ids

beforeAll(async () => {
  installation = untilEnd(await startInstallation())
  ;({ faults, page, owner } = await openOwner(installation))
  const message = await installation.send({ to: 'mailbox_full@simulator.test', subject: 'Your invoice' })
  await installation.send({ to: 'delivered@simulator.test' })
  const domain = await firstDomain(installation)
  const replay = await storeReplay(installation, owner.account)
  ids = { message, domain, replay, inbox: await firstInInbox(installation, page, owner.account) }
}, 240_000)

const open = async (path: string) => {
  await page.goto(`${installation.ready.url}/dashboard/${owner.account}${pathOf(path, ids)}`)
  await loaded(page)
  await page.waitForLoadState('networkidle')
}

async function as<Result>(role: 'reader' | 'member', walk: () => Promise<Result>): Promise<Result> {
  const { sql } = installation
  await sql`update members set role = ${role}`
  try {
    return await walk()
  } finally {
    await sql`update members set role = 'owner'`
  }
}

test.each(['reader', 'member'] as const)(
  'no page makes a call that a %s may not make, and each is whole',
  async (role) => {
    const refused: string[] = []
    page.on('response', (response) => {
      if (response.status() === 403)
        refused.push(`${new URL(page.url()).pathname}: ${new URL(response.url()).pathname}`)
    })
    const findings = await as(role, async () => {
      const found: string[] = []
      for (const [name, path] of PAGES) {
        await open(path)
        found.push(...(await axeFindings(page)).map((finding) => `${name}: ${finding}`))
        const alerts = await page.getByRole('alert').allInnerTexts()
        found.push(...alerts.map((text) => `${name} shows: ${text}`))
      }
      return found
    })
    page.removeAllListeners('response')
    expect([...findings, ...refused, ...faults]).toEqual([])
  },
)

/** What changes something, by the words of its button. */
const CHANGES =
  /^(?:Create|Revoke|Remove|Delete|Add(?! filter)|Import|Invite|Replay|Retry|Resume|Send|Rotate|Replace|Set|Save|Upload)\b/

test('a reader is offered nothing that changes the account', async () => {
  const offered = await as('reader', async () => {
    const found: string[] = []
    for (const [name, path] of PAGES.filter(([name]) => name !== 'Profile')) {
      await open(path)
      const names = await page.getByRole('main').getByRole('button', { disabled: false }).allInnerTexts()
      found.push(...names.filter((text) => CHANGES.test(text)).map((text) => `${name}: ${text}`))
    }
    return found
  })
  expect(offered).toEqual([])
})

test('a screen reader meets the outcome of a message first, then its recipients, its events and its facts', async () => {
  await open('/messages/:message')
  const tree = await page.locator('body').ariaSnapshot()
  const inOrder = [
    'link "Skip to the page"',
    'navigation',
    'search',
    'main',
    'heading "Your invoice" [level=1]',
    'region "Outcome"',
    'Bounced',
    'The mailbox of',
    'heading "Recipient" [level=2]',
    'button /mailbox_full@simulator.test',
    'heading "Events and webhook" [level=2]',
    'complementary "About the message"',
  ]
  let from = 0
  for (const part of inOrder) {
    const at = part.includes('/') ? tree.indexOf('mailbox_full@simulator.test', from) : tree.indexOf(part, from)
    expect([part, at >= from]).toEqual([part, true])
    from = at
  }
})

test('on every page a screen reader finds one heading of the first level, one main part, and a name for each part', async () => {
  const found: string[] = []
  for (const [name, path] of PAGES) {
    await open(path)
    const [headings, mains] = [page.getByRole('heading', { level: 1 }), page.getByRole('main')]
    if ((await headings.count()) !== 1) found.push(`${name}: ${await headings.count()} headings of the first level`)
    if ((await mains.count()) !== 1) found.push(`${name}: ${await mains.count()} main parts`)
    const nameless = /^\s*- (?:button|link|textbox|combobox|checkbox|switch)(?: \[[^\]]*\])*$/m
    const tree = await page.locator('body').ariaSnapshot()
    const lines = tree.split('\n')
    const without = lines.flatMap((line, i) => (nameless.test(line) ? [lines.slice(i - 1, i + 2).join(' ')] : []))
    found.push(...without.map((text) => `${name}: no name: ${text}`))
  }
  expect(found).toEqual([])
})

test('a new DKIM key is created, says what to publish, and the step that waits is marked', async () => {
  await open('/domains/:domain')
  await page.getByRole('button', { name: 'Create next key' }).click()
  const step = page.getByRole('listitem').filter({ hasText: 'Publish its record' })
  await step.getByText('It is among the records above.').waitFor()
  expect(await step.getAttribute('aria-current')).toBe('step')
  expect(await axeFindings(page)).toEqual([])
})

test('a new secret of the endpoint is shown once, and the old one says how long it still signs', async () => {
  const { ready } = installation
  await fetch(`${ready.url}/api/v1/webhook`, {
    method: 'PUT',
    headers: { authorization: `Bearer ${ready.keys.live}`, 'content-type': 'application/json' },
    body: JSON.stringify({ url: 'http://127.0.0.1:9/hook' }),
  })
  await open('/settings/webhook')
  await page.getByRole('button', { name: 'Replace secret' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('textbox').fill('127.0.0.1:9')
  await dialog.getByRole('button', { name: 'Replace secret' }).click()
  await page
    .getByText(/whsec_/)
    .first()
    .waitFor()
  await page.keyboard.press('Escape')
  await page.getByText('The previous secret also signs').waitFor()
  await page.reload()
  await loaded(page)
  expect(await page.getByText(/whsec_/).count()).toBe(0)
})

test('after an erasure no page shows the address, the search finds nothing, and its message still says what happened', async () => {
  const address = 'mailbox_does_not_exist+ann@simulator.test'
  ids = { ...ids, message: await installation.send({ to: address, subject: `Your ticket, ${address}` }) }
  await open('/messages')
  await page.getByText(address).first().waitFor()
  const { dataDir } = installation
  const verdict = (...command: string[]) =>
    promisify(execFile)(process.execPath, ['cli/bin.mjs', ...command, address], {
      env: { ...process.env, DATA_DIR: dataDir },
    })
  const exported = JSON.parse((await verdict('export')).stdout)
  expect(JSON.stringify(exported)).toContain(`Your ticket, ${address}`)
  await verdict('erase', '--yes')
  const shown: string[] = []
  for (const [name, path] of PAGES) {
    await open(path)
    if ((await page.content()).includes('+ann@')) shown.push(name)
    shown.push(...(await axeFindings(page)).map((finding) => `${name}: ${finding}`))
  }
  expect(shown).toEqual([])
  await open('/messages/:message')
  const main = page.getByRole('main')
  await main.getByRole('heading', { level: 1, name: '[erased]' }).waitFor()
  await main
    .getByText(/^erased-.+@erased\.invalid$/)
    .first()
    .waitFor()
  await main.getByText('Bounced').first().waitFor()
  await page.locator('[data-search-box]').fill(address)
  await page.getByRole('option', { name: /^Messages to .* 0$/ }).waitFor()
  expect(faults).toEqual([])
})
