import type { Page } from 'playwright-core'
import { beforeAll, expect, test } from 'vitest'
import { untilEnd } from '../../harness/until-end.ts'
import { loaded } from './browser.ts'
import { firstDomain, firstInInbox, type Installation, startInstallation, storeReplay } from './installation.ts'
import { OVERLAPS } from './overlaps.ts'
import { signUp } from './owner.ts'
import { type Ids, PAGES, pathOf } from './pages.ts'

// The longest texts that callers may give, in every field that a list shows: one word, many words, right to left, and
// pictures.

const ARABIC = 'مرحبا بالعالم '
const TEXTS = ['W', 'a word ', ARABIC, '\u{1F389}']
const longest = (text: string, characters: number) => [...text.repeat(characters)].slice(0, characters).join('').trim()

/** Narrow, wide, and both sides of the widths at which the layout changes. */
const WIDTHS = [320, 360, 480, 640, 641, 768, 860, 861, 1024, 1200, 1201, 1440, 1920]

let installation: Installation
let page: Page
let account: string
let ids: Ids

beforeAll(async () => {
  installation = untilEnd(await startInstallation())
  const { context } = await installation.browser.context(installation.ready.url)
  page = await context.newPage()
  ;({ account } = await signUp(page, installation.setUpLink))
  const address = (name: string) => `${name}${'x'.repeat(64 - name.length)}@simulator.test`
  const host = `${`${'l'.repeat(59)}.`.repeat(3)}example`
  const webhook = { url: `http://127.0.0.1:9/${'p'.repeat(200)}`, description: longest('W', 100) }
  expect(await post('webhooks', webhook)).toHaveProperty('endpoint_id')
  let message = ''
  for (const text of TEXTS) {
    const name = longest(text, 60)
    const email = {
      from: `"${name}" <${'f'.repeat(64)}@example.test>`,
      subject: longest(text, 200),
      text: 'Hello',
      tag: longest(text, 100),
      tenant_id: longest(text, 128),
      metadata: { ['k'.repeat(40)]: longest(text, 500) },
    }
    for (const outcome of ['delivered+', 'mailbox_full+', 'suppression_list+', 'complaint+']) {
      const response = await post('emails/send', { ...email, to: address(outcome) })
      message = (response.message_id as string | undefined) ?? message
      expect(response).toHaveProperty('status')
    }
    await post('emails/send', { ...email, to: address('a'), from: `${'f'.repeat(64)}@${host}` })
    const entry = { email: `${'s'.repeat(64)}@${host}`, tenant_id: email.tenant_id }
    expect(await post('suppression', entry)).toHaveProperty('email')
  }
  expect(await post('domains', { domain: host })).toHaveProperty('domain_id')
  const [domain, replay] = [await firstDomain(installation), await storeReplay(installation, account)]
  ids = { message, domain, replay, inbox: await firstInInbox(installation, page, account) }
}, 240_000)

async function post(path: string, body: object): Promise<Record<string, unknown>> {
  const { ready } = installation
  const response = await fetch(`${ready.url}/api/v1/${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${ready.keys.live}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  return (await response.json()) as Record<string, unknown>
}

const ALL_COLUMNS: [name: string, path: string] = [
  'Messages with all columns',
  '/messages?columns=from,tag,tenant,server,duration',
]

test.each([...PAGES, ALL_COLUMNS])(
  '%s: no text is over another or outside the page, and no short word is broken',
  async (_, path) => {
    await page.setViewportSize({ width: 1440, height: 900 })
    await page.goto(`${installation.ready.url}/dashboard/${account}${pathOf(path, ids)}`)
    await loaded(page)
    await page.waitForLoadState('networkidle')
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: 900 })
      await page.evaluate('new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))')
      const tooWide = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')
      expect({ width, tooWide, texts: await page.evaluate(OVERLAPS) }).toEqual({ width, tooWide: 0, texts: [] })
    }
  },
)
