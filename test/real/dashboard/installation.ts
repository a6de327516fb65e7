import type { Page } from 'playwright-core'
import postgres from 'postgres'
import { newId, parsePublicId, publicId } from '../../../server/db/ids.ts'
import { npmStart, type Ready } from '../../dev/npm-start.ts'
import { startBrowser, type TestBrowser } from './browser.ts'

/** What `npm start` runs, and a browser to open its pages with. */
export interface Installation extends AsyncDisposable {
  ready: Ready
  dataDir: string
  /** The link by which the first person sets a password. */
  setUpLink: string
  browser: TestBrowser
  sql: postgres.Sql
  /** Lets Temporal respond no more, and returns what lets it go on. */
  stopTemporal(): Promise<() => void>
  /** Sends one email over REST. Returns the message id. */
  send(message: { to: string | string[]; subject?: string; retry_of?: string }, key?: string): Promise<string>
}

export async function startInstallation(env: NodeJS.ProcessEnv = {}): Promise<Installation> {
  await using parts = new AsyncDisposableStack()
  const started = await npmStart()
  parts.defer(() => started.remove())
  parts.defer(() => started.stop())
  const [{ program, ready }, browser] = await Promise.all([started.startAndWait(env), startBrowser()])
  parts.use(browser)
  const setUpLink = /http\S+\/dashboard\/invitation\/\S+/.exec(program.stdout())?.[0]
  if (!setUpLink) throw new Error(`There is no set-up link in ${program.stdout()}`)
  const sql = postgres(await started.databaseUrl(), { max: 1 })
  parts.defer(() => sql.end())
  const all = parts.move()
  return {
    ready,
    dataDir: started.dataDir,
    setUpLink,
    browser,
    sql,
    async stopTemporal() {
      const pid = await started.pidOf(/^\d+ \S*temporal\S* server start-dev/)
      process.kill(pid, 'SIGSTOP')
      return () => void process.kill(pid, 'SIGCONT')
    },
    async send(message, key = ready.keys.live) {
      const response = await fetch(`${ready.url}/api/v1/emails/send`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ from: 'hello@example.test', subject: 'Hello', html: '<p>It works.</p>', ...message }),
      })
      return ((await response.json()) as { message_id: string }).message_id
    },
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  }
}

/** The id of the account's first domain. */
export async function firstDomain({ ready }: Installation): Promise<string> {
  const headers = { authorization: `Bearer ${ready.keys.live}` }
  const response = await fetch(`${ready.url}/api/v1/domains`, { headers })
  const { domains } = (await response.json()) as { domains: { domain_id: string }[] }
  return domains[0]!.domain_id
}

/** Stores a replay that has sent some of its events. Returns its id. */
export async function storeReplay({ sql }: Installation, account: string): Promise<string> {
  const id = newId(Date.now())
  const filter = { to: new Date().toISOString() }
  await sql`
    insert into range_replays (id, account_id, filter, per_second, state, total, dispatched, done_until, created_by)
    values (${id}, ${parsePublicId('acc', account)!}, ${sql.json(filter)}, 50, 'running', 300, 240, ${id},
      'owner@example.test')`
  return publicId('rpl', id)
}

/** The id of the newest message in the inbox. */
export async function firstInInbox({ ready }: Installation, page: Page, account: string): Promise<string> {
  await page.goto(`${ready.url}/dashboard/${account}/inbox`)
  const link = page.locator('a[data-row-link]').first()
  await link.waitFor()
  return (await link.getAttribute('href'))!.split('/').at(-1)!
}
