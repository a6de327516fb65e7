import type { Page } from 'playwright-core'
import { beforeAll, expect, test } from 'vitest'
import { type Receiver, startReceiver } from '../../harness/receiver.ts'
import { untilEnd } from '../../harness/until-end.ts'
import { type Installation, startInstallation } from './installation.ts'
import { openOwner } from './owner.ts'

// An owner gives two services an endpoint each, and sees an event on its way to both.

let installation: Installation
let receiver: Receiver
let page: Page
let faults: string[]
let account: string

beforeAll(async () => {
  receiver = untilEnd(await startReceiver())
  installation = untilEnd(await startInstallation())
  ;({ page, faults, account } = await openOwner(installation))
}, 240_000)

const button = (name: string) => page.getByRole('button', { name, exact: true })
const main = () => page.getByRole('main')

async function save(url: string): Promise<void> {
  await page.getByLabel('URL').fill(url)
  await button('Save endpoint').click()
  await page.getByText('Copy the secret now.').waitFor()
  await button('I have copied the secret').click()
}

test('a second endpoint is added with a note, and both are listed', async () => {
  await page.goto(`${installation.ready.url}/dashboard/${account}/settings/webhook`)
  await save(`${receiver.url}/first`)
  await button('Add endpoint').click()
  await page.getByLabel('Note').fill('warehouse')
  await save(`${receiver.url}/warehouse`)
  const list = page.getByRole('list', { name: 'Endpoints' })
  await list.getByRole('button', { name: /warehouse/ }).waitFor()
  expect(await list.getByRole('button').count()).toBe(2)
})

test('an event shows its attempts at each endpoint', async () => {
  receiver.script = ({ path }) => (path.endsWith('/warehouse') ? { status: 503 } : {})
  const id = await installation.send({ to: 'delivered@simulator.test', subject: 'For both' })
  await page.goto(`${installation.ready.url}/dashboard/${account}/messages/${id}`)
  await main()
    .getByText(/Attempt 1\s+to warehouse/)
    .first()
    .waitFor()
  await main()
    .getByText(/Attempt 1\s+to 127\.0\.0\.1/)
    .first()
    .waitFor()
})

test('an endpoint is disabled, and changed without its secret', async () => {
  await page.goto(`${installation.ready.url}/dashboard/${account}/settings/webhook`)
  await page
    .getByRole('list', { name: 'Endpoints' })
    .getByRole('button', { name: /warehouse/ })
    .click()
  await page.getByLabel('Push new events').click({ force: true })
  await button('Save endpoint').click()
  await page.getByText('The endpoint is saved.').waitFor()
  await page.getByRole('list', { name: 'Endpoints' }).getByText('Disabled').waitFor()
  expect(faults).toEqual([])
})
