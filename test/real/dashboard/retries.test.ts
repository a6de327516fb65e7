import type { Page } from 'playwright-core'
import { beforeAll, expect, test } from 'vitest'
import { untilEnd } from '../../harness/until-end.ts'
import { type Installation, startInstallation } from './installation.ts'
import { openOwner } from './owner.ts'

// The page of a message shows its chain of retries, and offers the command that retries.

let installation: Installation
let page: Page
let faults: string[]
let account: string

beforeAll(async () => {
  installation = untilEnd(await startInstallation())
  ;({ page, faults, account } = await openOwner(installation))
}, 240_000)

test('the messages of a chain link each other, and the command retries what was refused for now', async () => {
  const { ready, send } = installation
  const to = 'temporary_failure@simulator.test'
  const first = await send({ to, subject: 'The first' })
  await page.goto(`${ready.url}/dashboard/${account}/messages/${first}`)
  const main = page.getByRole('main')
  await main.getByText(`"retry_of": "${first}"`).waitFor()
  expect(await main.getByText('Retried by').count()).toBe(0)

  const second = await send({ to, subject: 'The second', retry_of: first })
  await page.reload()
  await main.getByText('Retried by').waitFor()
  await main.getByRole('link', { name: /^msg_/ }).click()
  await page.getByRole('heading', { level: 1, name: 'The second' }).waitFor()
  await main.getByText(`"retry_of": "${second}"`).waitFor()
  await main.getByText('Retry of').waitFor()
  await main.getByRole('link', { name: /^msg_/ }).click()
  await page.getByRole('heading', { level: 1, name: 'The first' }).waitFor()
  expect(faults).toEqual([])
})
