import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, connect as dial } from 'node:net'
import postgres from 'postgres'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { freePort } from '../../dev/ports.ts'
import { connect } from '../../server/db/connect.ts'
import { applyMigrations } from '../../server/db/migrations.ts'
import { waitForDatabase } from '../../server/db/wait.ts'

const name = `wait_${randomBytes(6).toString('hex')}`
const admin = postgres(inject('postgresUrl'), { max: 1, onnotice: () => {} })

beforeAll(async () => {
  await admin.unsafe(`create database ${name}`)
})
afterAll(async () => {
  await admin.unsafe(`drop database ${name} with (force)`)
  await admin.end()
})

/** The URL of the unmigrated database, with changes. */
function urlWith(change: Partial<URL>): string {
  return Object.assign(new URL(inject('postgresUrl')), { pathname: `/${name}`, ...change }).href
}

/** Calls `waitForDatabase`. Returns what it reported, and the message of its error if it threw one. */
async function waitFor(url: string, during?: (report: string) => Promise<void> | void) {
  const db = connect(url, { connections: 1 })
  const reports: string[] = []
  const report = (what: string) => {
    reports.push(what)
    void during?.(what)
  }
  const failure = await waitForDatabase(db, report).then(
    () => undefined,
    (error: Error) => error.message,
  )
  await db.$client.end({ timeout: 1 })
  return { reports, failure }
}

test.each([
  [
    'a wrong password',
    { password: 'wrong' },
    /^The database cannot be used: password authentication failed for user "\w+"\. Correct the user and the password in DATABASE_URL/,
  ],
  ['an unknown user', { username: 'stranger' }, /authentication failed for user "stranger"\. Correct the user/],
  [
    'an unknown database',
    { pathname: '/nowhere' },
    /database "nowhere" does not exist\. Create the database, or correct/,
  ],
])('with %s the start fails at once, and says what is wrong and how to fix it', async (_what, change, message) => {
  const { reports, failure } = await waitFor(urlWith(change))
  expect(failure).toMatch(message)
  expect(reports).toEqual([])
})

test('a start waits for the tables to exist, and reports the command that creates them', async () => {
  const { reports, failure } = await waitFor(urlWith({}), () => applyMigrations(urlWith({})))
  expect(reports[0]).toBe('The database has no tables of Verdict. Create them: npm run migrate Waiting.')
  expect(failure).toBeUndefined()
})

test('a start waits for a server that does not run yet, and reports its address', async () => {
  await applyMigrations(urlWith({}))
  const { hostname, port } = new URL(inject('postgresUrl'))
  const lateServer = createServer((client) => {
    const server = dial(Number(port), hostname)
    client.pipe(server).pipe(client)
    for (const socket of [client, server]) socket.on('error', () => {})
  })
  const closedPort = await freePort()
  const { reports, failure } = await waitFor(urlWith({ host: `127.0.0.1:${closedPort}` }), async () => {
    lateServer.listen(closedPort, '127.0.0.1')
    await once(lateServer, 'listening')
  })
  lateServer.close()
  expect(reports).toEqual([
    `The database cannot be used: connect ECONNREFUSED 127.0.0.1:${closedPort}. ` +
      'Check that PostgreSQL runs, and the host and port in DATABASE_URL. Waiting.',
  ])
  expect(failure).toBeUndefined()
})
