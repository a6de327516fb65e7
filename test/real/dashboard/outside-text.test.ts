import type { Page } from 'playwright-core'
import { beforeAll, expect, test } from 'vitest'
import { type Exchanger, startExchanger } from '../../harness/exchanger.ts'
import { type Receiver, startReceiver } from '../../harness/receiver.ts'
import { untilEnd } from '../../harness/until-end.ts'
import { type Installation, startInstallation } from './installation.ts'
import { openOwner } from './owner.ts'

const HTML = '<img src="/x" onerror="window.owned=1"><script>window.owned=1</script><a href="javascript:owned=1">x</a>'
const CONTROLS = '\x1b[31m\u202egnp.exe\u202c'

let exchanger: Exchanger
let receiver: Receiver
let installation: Installation
let page: Page
let faults: string[]
let account: string

beforeAll(async () => {
  const reply = Buffer.from(`550 5.7.1 ${HTML} ${CONTROLS} ${'long '.repeat(80)}\r\n`)
  ;[exchanger, receiver] = await Promise.all([
    startExchanger({ rcpt: { raw: reply } }).then(untilEnd),
    startReceiver().then(untilEnd),
  ])
  receiver.script = { status: 500, body: `${HTML} ${CONTROLS} ${'long '.repeat(13_000)}` }
  installation = untilEnd(
    await startInstallation({
      SMTP_ROUTES: `hostile.example.com=127.0.0.1:${exchanger.port}`,
      SMTP_ALLOW_SUBNETS: '127.0.0.0/8',
    }),
  )
  ;({ page, faults, account } = await openOwner(installation))
  await page.getByRole('navigation').getByRole('link', { name: 'Settings' }).click()
  await page.getByRole('link', { name: 'Webhook' }).click()
  await page.getByLabel('URL').fill(receiver.url)
  await page.getByRole('button', { name: 'Save endpoint' }).click()
  await page.getByRole('button', { name: 'I have copied the secret' }).click()
}, 240_000)

test('the words of servers, senders and endpoints are shown as text, and none of them runs', async () => {
  const id = await installation.send({ to: 'ann@hostile.example.com', subject: `${HTML} \u202egnp.exe` })
  await page.goto(`${installation.ready.url}/dashboard/${account}/messages/${id}`)
  const main = page.getByRole('main')
  await main.getByText('HTTP 500').waitFor()
  const text = (await main.textContent())!
  expect(text.split('<script>window.owned=1</script>').length - 1, 'subject, reply and response').toBeGreaterThan(2)
  expect(await main.locator('script, img[src="/x"], a[href^="javascript:"]').count()).toBe(0)
  await page.goto(`${installation.ready.url}/dashboard/${account}/messages`)
  await main.getByText('<script>').first().waitFor()
  expect(await page.evaluate('window.owned')).toBeUndefined()
  expect(faults).toEqual([])
})

test('characters that are invisible or change the order of others are seen', async () => {
  const id = await installation.send({ to: 'ann@hostile.example.com', subject: 'Hello \u202egnp.exe' })
  await page.goto(`${installation.ready.url}/dashboard/${account}/messages/${id}`)
  await page.getByRole('heading', { level: 1 }).getByText('U+202E').waitFor()
  expect(await page.getByRole('main').textContent()).not.toMatch(/[\x1b\u202a-\u202e]/)
})
