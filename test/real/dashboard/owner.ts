import type { BrowserContext } from 'playwright-core'

export interface Owner {
  email: string
  password: string
  /** Id of the first account. */
  account: string
  /** The cookies of the session. */
  state: Awaited<ReturnType<BrowserContext['storageState']>>
}

/** Follows the set-up link in the output of `npm start`, and signs in. */
export async function signUp(context: BrowserContext, output: string): Promise<Owner> {
  const link = /http\S+\/dashboard\/invitation\/\S+/.exec(output)?.[0]
  if (!link) throw new Error(`There is no set-up link in ${output}`)
  const [email, password] = ['owner@example.test', 'correct horse battery']
  const page = await context.newPage()
  await page.goto(link)
  await page.getByLabel('Email address').fill(email)
  await page.getByLabel('Your name').fill('Olga Owner')
  await page.getByLabel('New password').fill(password)
  await page.getByRole('button', { name: 'Create sign-in' }).click()
  await page.waitForURL(/\/dashboard\/acc_/)
  const account = new URL(page.url()).pathname.split('/')[2]!
  return { email, password, account, state: await context.storageState() }
}
