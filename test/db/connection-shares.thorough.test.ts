import { readdirSync } from 'node:fs'
import type { DescFile, DescMethod, DescService } from '@bufbuild/protobuf'
import { createServiceImplSpec, type ServiceImplSpec } from '@connectrpc/connect'
import { pino } from 'pino'
import postgres from 'postgres'
import { expect, test } from 'vitest'
import { FairTurns } from '../../net/fair-turns.ts'
import { createHeavyCallLimit, HEAVY_CALLS } from '../../server/access/heavy-calls.ts'
import { createOpenCalls } from '../../server/access/open-calls.ts'
import { callerKey } from '../../server/caller.ts'
import type { Database, Transaction } from '../../server/db/connect.ts'
import { eq } from '../../server/db/drizzle.ts'
import { lockAccount } from '../../server/db/lock-account.ts'
import { accounts } from '../../server/db/schema.ts'
import { run } from '../../server/db/statement.ts'
import { createAccount } from '../../server/directory/accounts.ts'
import { fail } from '../../server/errors.ts'
import { createApp } from '../../server/http/app.ts'
import { listen } from '../../server/http/listener/listen.ts'
import { createDoor } from '../../server/smtp-front/door.ts'
import type { FrontMail } from '../../server/smtp-front/parts.ts'
import { testAccount } from '../harness/account.ts'
import { countWaiting } from '../harness/lock-queue.ts'
import { atEnd } from '../harness/until-end.ts'
import { within } from '../harness/waits.ts'

// However many calls one account makes, on whatever methods and by whatever way to SQL, its work holds at most as many
// connections as it leaves free. Work that may take long leaves connections, whoever does it. Each method of the
// contract and of the dashboard is here by itself, and so are the other doors.

const FOLDERS = ['verdict/v1', 'verdict/admin/v1'].map((folder) => new URL(`../../gen/${folder}/`, import.meta.url))
const CALLS = 200
/** Another account's call has its answer by then, although none of the slow ones ends. */
const SOON_MS = 3_000
const LOST_SESSION = 'session=lost'

const LOCK = 'select from accounts where id = $1 for no key update'

/** The ways to SQL. Each waits while the account's row is locked. */
const WAYS: Record<string, (db: Database, accountId: string) => Promise<unknown>> = {
  'a statement': (db, id) => run(db, LOCK, [id]),
  'a statement of the query builder': (db, id) =>
    db.select({ id: accounts.id }).from(accounts).where(eq(accounts.id, id)).for('no key update'),
  'a transaction': (db, id) => db.transaction((tx: Transaction) => lockAccount(tx, id)),
  "a transaction of the driver's": (db, id) => db.$client.begin((tx) => tx.unsafe(LOCK, [id])),
  'many statements at once': (db, id) => Promise.all(Array.from({ length: 20 }, () => run(db, LOCK, [id]))),
}
async function allServices(): Promise<DescService[]> {
  const paths = FOLDERS.flatMap((folder) => readdirSync(folder).map((name) => new URL(name, folder).href))
  const modules: Record<string, unknown>[] = await Promise.all(paths.map((path) => import(path)))
  const files = modules.flatMap(Object.entries).flatMap(([name, file]) => (/^file_/.test(name) ? file : []))
  return (files as DescFile[]).flatMap(({ services }) => services)
}

interface Call {
  name: string
  isHeavy: boolean
  call(accountId: string): Promise<Response>
}

const pathOf = ({ parent, name }: DescMethod) => `/${parent.typeName}/${name}`

/** The app over services whose methods all do `work` with the id of their account. */
async function startServices(work: (accountId: string) => Promise<unknown>) {
  const services = await allServices()
  const bound = (service: DescService): ServiceImplSpec => {
    const methods = service.methods.map(({ localName, methodKind }) => {
      const answer = async (_: unknown, { values }: { values: { get(key: typeof callerKey): unknown } }) => {
        await work((values.get(callerKey) as { accountId: string }).accountId)
        return {}
      }
      async function* stream(...parts: Parameters<typeof answer>) {
        yield await answer(...parts)
      }
      return [localName, methodKind === 'unary' ? answer : stream]
    })
    return createServiceImplSpec(service, Object.fromEntries(methods))
  }
  const caller = (accountId: string) => ({ accountId, test: false })
  const app = await createApp({
    services: services.filter(({ typeName }) => !typeName.includes('.admin.')).map(bound),
    gate: async ({ authorization }) => (authorization ? caller(authorization.slice('Bearer '.length)) : undefined),
    dashboard: {
      services: services.filter(({ typeName }) => typeName.includes('.admin.')).map(bound),
      openServices: [],
      async gate({ cookie }) {
        if (cookie === LOST_SESSION) await work('account')
        return caller(cookie!.slice('session='.length))
      },
      hasSession: (cookie) => cookie.startsWith('session='),
      authenticate: {
        paths: ['/sign-in/email'],
        async respond({ body }) {
          await work(String(body.account))
          return { cookies: [], json: '{}' }
        },
      },
    },
    interceptors: [createHeavyCallLimit()],
    openCalls: createOpenCalls(),
    log: pino({ level: 'silent' }),
    keySet: { read: async () => ({ keys: [] }), maxAgeSeconds: 300 },
    checks: async () => ({}),
    about: { version: '0.0.0', region: 'eu' },
  })
  const listener = await listen(app, { host: '127.0.0.1', port: 0 })
  atEnd(() => listener.close({ timeoutMs: 0 }))
  const post = (path: string, headers: Record<string, string>, body: object = {}) =>
    fetch(listener.url + path, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'connect-protocol-version': '1',
        origin: listener.url,
        ...headers,
      },
      body: JSON.stringify(body),
    })
  const unary = services.flatMap(({ methods }) => methods).filter(({ methodKind }) => methodKind === 'unary')
  const calls = unary.map(({ parent, name }): Call => {
    const isAdmin = parent.typeName.includes('.admin.')
    const path = `/${parent.typeName}/${name}`
    const isHeavy = HEAVY_CALLS.some(({ methods }) => methods.some((heavy) => pathOf(heavy) === path))
    const call = (accountId: string) =>
      post(path, isAdmin ? { cookie: `session=${accountId}` } : { authorization: `Bearer ${accountId}` })
    return { name: path, isHeavy, call }
  })
  const door = createDoor({
    identify: async () => undefined,
    gate: async () => caller('account'),
    turns: new FairTurns(),
    async submit({ accountId }) {
      await work(accountId)
      throw fail('invalid_payload', 'no message')
    },
    refusedSends: { note() {} },
    log: pino({ level: 'silent' }),
    hashAddress: String,
  })
  const mail = { key: 'k', remoteAddress: '127.0.0.1', recipients: [], content: Buffer.of(), isLmtp: false }
  /** What one stranger, or one program, may do without a call. */
  const doors = {
    'sign-ins': () => post('/api/auth/sign-in/email', {}, { account: 'account' }),
    'look-ups of a session': () => calls.at(-1)!.call(LOST_SESSION.slice('session='.length)),
    mails: async () => ({ status: (await door.deliver(mail as unknown as FrontMail))![0]!.code }),
  }
  return { calls, doors }
}

/** Holds the lock of an account until its test ends, and starts the services, whose methods take it. */
async function startBesideLock(way: string) {
  const { url, db, clock, accountId: locked } = await testAccount()
  const sql = postgres(url, { max: 2 })
  const letGo = Promise.withResolvers<void>()
  const isLocked = Promise.withResolvers<void>()
  const ended = sql.begin(async (tx) => {
    await tx`select from accounts where id = ${locked} for update`
    isLocked.resolve()
    await letGo.promise
  })
  await isLocked.promise
  atEnd(async () => {
    letGo.resolve()
    await ended
    await sql.end()
  })
  const { id: other } = await createAccount(db, clock, 'Other')
  // Every account but the other one waits for the lock.
  const services = await startServices((account) => {
    if (account !== other) return WAYS[way]!(db, locked)
    return Promise.all(Object.values(WAYS).map((work) => work(db, other)))
  })
  return { ...services, db, other, waiting: () => countWaiting(sql, '%for no key update%'), letGo: letGo.resolve }
}

/** Makes far more calls than there are connections. Resolves to their statuses. */
const makeMany = (call: (i: number) => Promise<{ status: number }>) =>
  // Those of a test that fails are cut off.
  Promise.all(Array.from({ length: CALLS }, (_, i) => call(i).then(({ status }) => status, String)))

async function expectServed(calls: Call[], account: string): Promise<void> {
  for (const { name, call } of calls) {
    const response = await within(SOON_MS, call(account), undefined)
    expect(response?.status, name).toBe(200)
  }
}

test.each(Object.keys(WAYS))('%s: calls of one account on every method leave half of all connections', async (way) => {
  const { calls, other, waiting, db, letGo } = await startBesideLock(way)
  expect(calls.length).toBeGreaterThan(80)
  const statuses = makeMany((i) => calls[i % calls.length]!.call('account'))
  expect(await waiting()).toBeLessThanOrEqual(db.load.limit / 2)
  await expectServed(calls, other)
  letGo()
  // A page has few heavy calls at a time.
  for (const status of await statuses) expect([200, 429]).toContain(status)
})

test.each(Object.keys(WAYS))(
  '%s: heavy calls of all accounts leave most connections to every other call',
  async (way) => {
    const { calls, other, waiting, db, letGo } = await startBesideLock(way)
    const [heavy, others] = [true, false].map((isHeavy) => calls.filter((call) => call.isHeavy === isHeavy))
    const held = makeMany((i) => heavy![i % heavy!.length]!.call(`account ${i % 20}`))
    expect(await waiting()).toBeLessThan(db.load.limit / 2)
    await expectServed(others!, other)
    letGo()
    await held
  },
)

test.each(Object.keys(WAYS))('%s: calls of all accounts leave a connection to the steps of sends', async (way) => {
  const { calls, waiting, db, letGo } = await startBesideLock(way)
  const held = makeMany((i) => calls[i % calls.length]!.call(`account ${i % 20}`))
  expect(await waiting()).toBeLessThan(db.load.limit)
  expect(await within(SOON_MS, run(db, 'select 1'), 'waits')).not.toBe('waits')
  letGo()
  await held
})

const DOORS = ['sign-ins', 'look-ups of a session', 'mails'] as const

test.each(DOORS)('%s of one caller leave half of all connections', async (name) => {
  const { calls, doors, other, waiting, db, letGo } = await startBesideLock('many statements at once')
  const held = makeMany(doors[name])
  expect(await waiting()).toBeLessThanOrEqual(db.load.limit / 2)
  await expectServed(calls.slice(0, 1), other)
  letGo()
  await held
})

test('a transaction within one does not wait for its caller', async () => {
  const { db, clock, accountId } = await testAccount()
  const other = await createAccount(db, clock, 'Other')
  const { calls } = await startServices((account) =>
    db.transaction(async (tx) => {
      await lockAccount(tx, other.id)
      await WAYS['a transaction']!(db, account)
    }),
  )
  const held = Array.from({ length: 8 }, () => calls[0]!.call(accountId))
  for (const { status } of await Promise.all(held)) expect(status).toBe(200)
})
