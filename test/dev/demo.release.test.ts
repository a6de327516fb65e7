import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import postgres from 'postgres'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createKey } from '../../server/access/api-keys.ts'
import { createDatabaseClock } from '../../server/db/clock.ts'
import { connect } from '../../server/db/connect.ts'
import { listAccounts } from '../../server/directory/accounts.ts'
import { authorization, type NpmStart, npmStart, type Ready } from './npm-start.ts'

let npm: NpmStart
let ready: Ready
beforeAll(async () => {
  npm = await npmStart()
  ready = (await npm.startAndWait()).ready
})
afterAll(async () => {
  await npm.stop()
  await npm.remove()
})

async function runDemo(args: string[] = [], env: NodeJS.ProcessEnv = {}) {
  const program = spawn(process.execPath, ['dev/demo.ts', ...args], {
    env: { ...process.env, DATA_DIR: npm.dataDir, ...env },
  })
  const [stdout, stderr, [code]] = await Promise.all([
    text(program.stdout),
    text(program.stderr),
    once(program, 'exit'),
  ])
  return { stdout, stderr, code }
}

/** The account of the demo over REST, by a key that is made for it. */
async function openDemo() {
  const db = connect(await npm.databaseUrl(), { connections: 1 })
  const clock = await createDatabaseClock(db)
  const demo = (await listAccounts(db)).find(({ name }) => name === 'Demo')!
  const scopes = ['emails.read', 'events.read', 'stats.read']
  const { key } = await createKey(db, clock, { accountId: demo.id, name: 'test', kind: 'live', scopes })
  clock.stop()
  await db.$client.end()
  // biome-ignore lint/suspicious/noExplicitAny: the expectations say what is in it
  return async (path: string): Promise<any> => (await fetch(`${ready.url}/api/v1${path}`, authorization(key))).json()
}

test('the demo fills an account of its own, says what it made, and is removed as a whole', async () => {
  const { stdout, stderr, code } = await runDemo()
  expect({ stderr, code }).toEqual({ stderr: '', code: 0 })
  const [, messages, events] = /(\d+) messages to 8 recipient domains, (\d+) events/.exec(stdout)!.map(Number)
  expect(stdout).toContain(`${ready.url}/dashboard/acc_`)
  expect(stdout).toContain('npm run demo -- --remove')

  const call = await openDemo()
  const stats = await call(`/stats?by=recipient_domain&from=${new Date(Date.now() - 8 * 86_400_000).toISOString()}`)
  const { sent, rejected, complaints, late_bounces } = stats.totals
  expect(stats.groups.filter(({ sent }: { sent: number }) => sent > 0)).toHaveLength(8)
  expect(complaints).toBeGreaterThan(0)
  expect(late_bounces).toBeGreaterThan(0)

  const sql = postgres(await npm.databaseUrl(), { max: 1 })
  const [stored] = await sql`
    select (select count(*)::int from messages) as messages, (select count(*)::int from events) as events,
      (select count(*)::int from recipients r join messages m on m.id = r.message_id where not m.sandbox) as emails,
      (select count(*)::int from open_messages) + (select count(*)::int from open_dispatches) as open,
      (select count(*)::int from pg_namespace where nspname = 'demo_clock') as clocks`
  expect(stored).toMatchObject({ messages, events, open: 0, clocks: 0 })
  expect(sent + rejected).toBe(stored!.emails)

  const [suppressed] = await sql`
    select count(*)::int as all, count(*) filter (where created_at < now() - interval '1 hour')::int as earlier
    from suppressions`
  expect(suppressed!.all).toBeGreaterThan(10)
  expect(suppressed!.earlier).toBeGreaterThan(suppressed!.all / 2)

  const { emails } = await call('/emails?reason=mailbox_full&limit=1')
  const email = await call(`/emails/${emails[0].message_id}`)
  expect(email.recipients[0]).toMatchObject({
    status: 'bounced',
    reason: 'mailbox_full',
    smtp: { code: 452, enhanced: '4.2.2', tls: { version: 'TLSv1.3' }, read_as: expect.stringMatching(/^space/) },
  })
  const event = await call(`/events/${email.events[0].event_id}`)
  expect(event.dispatches[0]).toMatchObject({ state: 'acknowledged', attempts: [{ number: 1 }] })

  const again = await runDemo()
  // The first one is replaced, and the time went on.
  const [{ count }] = (await sql`select count(*)::int as count from messages`) as [{ count: number }]
  expect(again.stdout).toContain(`${count} messages`)
  expect(await runDemo(['--remove'])).toMatchObject({ code: 0, stdout: 'The account "Demo" is removed.\n' })
  const left = await sql`
    select (select count(*)::int from messages) as messages, (select count(*)::int from attempts) as attempts,
      (select count(*)::int from hourly_stats) as hours, (select array_agg(name) from accounts) as accounts`
  expect(left).toEqual([{ messages: 0, attempts: 0, hours: 0, accounts: ['Development'] }])
  await sql.end()
})

test('the demo refuses production, another database, and unknown arguments', async () => {
  const refusals = [
    await runDemo([], { NODE_ENV: 'production' }),
    await runDemo([], { DATABASE_URL: 'postgres://verdict@127.0.0.1:1/live' }),
    await runDemo(['--all']),
    await runDemo([], { DATA_DIR: npm.folder }),
  ]
  expect(refusals.map(({ code }) => code)).toEqual([1, 1, 1, 1])
  expect(refusals.map(({ stderr }) => stderr.trim())).toEqual([
    expect.stringContaining('npm run demo is for development'),
    expect.stringContaining('DATABASE_URL names another one'),
    expect.stringContaining('Unknown argument: --all'),
    expect.stringContaining('Run npm start first'),
  ])
})
