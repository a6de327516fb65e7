import type { BrowserContextOptions, Page } from 'playwright-core'
import type { Installation } from './installation.ts'

export interface Owner {
  email: string
  password: string
  /** Id of the first account. */
  account: string
}

/** Sets up the first sign-in by its link. The page then shows the overview. */
export async function signUp(page: Page, setUpLink: string): Promise<Owner> {
  const [email, password] = ['owner@example.test', 'correct horse battery']
  await page.goto(setUpLink)
  await page.getByLabel('Email address').fill(email)
  await page.getByLabel('Your name').fill('Olga Owner')
  await page.getByLabel('New password').fill(password)
  await page.getByRole('button', { name: 'Create sign-in' }).click()
  await page.waitForURL(/\/dashboard\/acc_/)
  return { email, password, account: accountOf(page) }
}

/** A page on which the first person has set up their sign-in. `faults` is that of its context. */
export async function openOwner({ browser, ready, setUpLink }: Installation, options?: BrowserContextOptions) {
  const { context, faults } = await browser.context(ready.url, options)
  const page = await context.newPage()
  const owner = await signUp(page, setUpLink)
  return { context, faults, page, owner, account: owner.account }
}

const accountOf = (page: Page) => new URL(page.url()).pathname.split('/')[2]!

/** Signs in on the page of the sign-in. Returns the id of the account that is then shown. */
export async function signIn(page: Page, { email, password }: Pick<Owner, 'email' | 'password'>): Promise<string> {
  await page.getByLabel('Email address').fill(email)
  await page.getByLabel('Password', { exact: true }).fill(password)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.waitForURL(/\/dashboard\/acc_/)
  return accountOf(page)
}
