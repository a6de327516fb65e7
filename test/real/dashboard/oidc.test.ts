import type { Locator, Page } from 'playwright-core'
import { beforeAll, expect, test } from 'vitest'
import { eventually } from '../../harness/eventually.ts'
import { type OidcProvider, startOidcProvider } from '../../harness/oidc-provider.ts'
import { untilEnd } from '../../harness/until-end.ts'
import { axeFindings, loaded } from './browser.ts'
import { type Installation, startInstallation } from './installation.ts'
import { type Owner, signUp } from './owner.ts'

// People who sign in by OpenID Connect, at a real provider. Each test goes on where the one before it ended.

const ANN = { email: 'ann@example.test', email_verified: true, name: 'Ann Example' }

let installation: Installation
let provider: OidcProvider
let page: Page
let ofAnn: Page
let owner: Owner
let host: string

beforeAll(async () => {
  provider = untilEnd(await startOidcProvider(() => `${installation.ready.url}/dashboard/oidc`))
  const { issuer, clientId, clientSecret } = provider.config
  host = new URL(issuer).host
  installation = untilEnd(
    await startInstallation({
      OIDC_ISSUER: issuer,
      OIDC_CLIENT_ID: clientId,
      OIDC_CLIENT_SECRET: clientSecret,
    }),
  )
  const open = async () => (await installation.browser.context(installation.ready.url)).context.newPage()
  ;[page, ofAnn] = [await open(), await open()]
  owner = await signUp(page, installation.setUpLink)
}, 240_000)

const shows = (text: string | RegExp, within: Page | Locator) => within.getByText(text).first().waitFor()
const continueButton = (within: Page) => within.getByRole('button', { name: `Continue with ${host}` })
const profileOf = (within: Page) => within.goto(`${installation.ready.url}/dashboard/${owner.account}/settings/profile`)

/** Fills in the form of the provider. Any password is right. */
async function signInAtProvider(within: Page, login: string) {
  await within.waitForURL(new RegExp(`//${host}/interaction/`))
  await within.locator('input[name=login]').fill(login)
  await within.locator('input[name=password]').fill('any')
  await within.getByRole('button', { name: /sign-in/i }).click()
  await within.waitForURL(/\/dashboard\//)
}

test('an identity without an invitation reads why it cannot enter', async () => {
  provider.people.set('ann', ANN)
  await ofAnn.goto(`${installation.ready.url}/dashboard/sign-in`)
  await continueButton(ofAnn).click()
  await signInAtProvider(ofAnn, 'ann')
  await shows(/ann@example\.test has no sign-in by .* and no invitation/, ofAnn)
  expect(await axeFindings(ofAnn)).toEqual([])
  await ofAnn.getByRole('link', { name: 'Back to sign-in' }).click()
  await continueButton(ofAnn).waitFor()
  await loaded(ofAnn)
  expect(await axeFindings(ofAnn)).toEqual([])
})

test('an owner invites the address, and the identity enters with the role of the invitation', async () => {
  await page.goto(`${installation.ready.url}/dashboard/${owner.account}/settings/people`)
  await page.getByRole('button', { name: 'Invite person' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Email address').fill(ANN.email)
  await dialog.getByRole('button', { name: /^(Invite|Create)/ }).click()
  const link = /http\S+\/dashboard\/invitation\/[\w-]+/.exec((await shownText(dialog, /invitation\//))!)![0]
  await ofAnn.goto(link)
  await continueButton(ofAnn).click()
  // The provider remembers the browser.
  await ofAnn.waitForURL(/\/dashboard\/acc_/)
  await profileOf(ofAnn)
  await shows('Sign-in methods', ofAnn)
  await shows('Your only way to sign in', ofAnn)
  expect(await ofAnn.getByRole('heading', { name: 'Password' }).count()).toBe(0)
  await loaded(ofAnn)
  expect(await axeFindings(ofAnn)).toEqual([])
})

test('a change that needs a fresh sign-in leads to the provider, which asks for the password again', async () => {
  await installation.sql`update members set role = 'owner'`
  await installation.sql`update sessions set confirmed_at = null`
  await ofAnn.goto(`${installation.ready.url}/dashboard/${owner.account}/settings/people`)
  const invite = async () => {
    await ofAnn.getByRole('button', { name: 'Invite person' }).click()
    await ofAnn.getByRole('dialog').getByLabel('Email address').fill('bob@example.test')
    await ofAnn
      .getByRole('dialog')
      .getByRole('button', { name: /^(Invite|Create)/ })
      .click()
  }
  await invite()
  await shows('Confirm who you are', ofAnn)
  await continueButton(ofAnn).click()
  await signInAtProvider(ofAnn, 'ann')
  await ofAnn.waitForURL(/\/settings\/people$/)
  await invite()
  await shows(/\/dashboard\/invitation\//, ofAnn)
})

test('a person with a password links an identity, signs in with it, and unlinks it', async () => {
  await profileOf(page)
  await page.getByRole('button', { name: `Link ${host}` }).click()
  await page.getByRole('dialog').getByLabel('Password', { exact: true }).fill(owner.password)
  await page.getByRole('dialog').getByRole('button', { name: 'Continue', exact: true }).click()
  await signInAtProvider(page, 'olga')
  await page.waitForURL(/\/settings\/profile$/)
  await page.getByRole('button', { name: `Unlink ${host}` }).waitFor()
  await page.getByRole('button', { name: 'Sign out' }).click()
  await continueButton(page).click()
  await page.waitForURL(/\/dashboard\/acc_/)
  await profileOf(page)
  await page.getByRole('button', { name: `Unlink ${host}` }).click()
  await page.getByRole('dialog').getByLabel('Password', { exact: true }).fill(owner.password)
  await page.getByRole('dialog').getByRole('button', { name: 'Continue', exact: true }).click()
  await page.getByRole('button', { name: `Link ${host}` }).waitFor()
})

test('while the provider does not respond, the button says so and the password signs in', async () => {
  await page.getByRole('button', { name: 'Sign out' }).click()
  provider.isUp = false
  // The service asks the provider again when its last answer is 10 s old.
  await eventually(async () => {
    await page.goto(`${installation.ready.url}/dashboard/sign-in`)
    await continueButton(page).click()
    await page.getByText(`${host} does not respond`).waitFor({ timeout: 3_000 })
  })
  await page.getByLabel('Email address').fill(owner.email)
  await page.getByLabel('Password', { exact: true }).fill(owner.password)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.waitForURL(/\/dashboard\/acc_/)
})

async function shownText(within: Locator, pattern: RegExp): Promise<string | null> {
  const found = within.getByText(pattern).first()
  await found.waitFor()
  return found.textContent()
}
