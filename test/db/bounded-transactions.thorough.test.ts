import { readdirSync } from 'node:fs'
import type { DescFile, DescService } from '@bufbuild/protobuf'
import { createServiceImplSpec, type ServiceImplSpec } from '@connectrpc/connect'
import { pino } from 'pino'
import postgres from 'postgres'
import { expect, test } from 'vitest'
import { createOpenCalls } from '../../server/access/open-calls.ts'
import { callerKey } from '../../server/caller.ts'
import type { Database, Transaction } from '../../server/db/connect.ts'
import { lockAccount } from '../../server/db/lock-account.ts'
import { createAccount } from '../../server/directory/accounts.ts'
import { createApp } from '../../server/http/app.ts'
import { listen } from '../../server/http/listener/listen.ts'
import { testAccount } from '../harness/account.ts'
import { countWaiting } from '../harness/lock-queue.ts'
import { atEnd } from '../harness/until-end.ts'
import { within } from '../harness/waits.ts'

// However many calls one account makes, on whatever methods, their transactions hold a part of the pool, and others
// find a connection. Each method of the contract and of the dashboard is here by itself, and each way to sign in.

const FOLDERS = ['verdict/v1', 'verdict/admin/v1'].map((folder) => new URL(`../../gen/${folder}/`, import.meta.url))
const CALLS = 200
/** Half of the four connections of the pool that transactions of calls may hold. */
const MOST = 2

async function allServices(): Promise<DescService[]> {
  const paths = FOLDERS.flatMap((folder) => readdirSync(folder).map((name) => new URL(name, folder).href))
  const modules: Record<string, unknown>[] = await Promise.all(paths.map((path) => import(path)))
  const files = modules.flatMap(Object.entries).flatMap(([name, file]) => (/^file_/.test(name) ? file : []))
  return (files as DescFile[]).flatMap(({ services }) => services)
}

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
      gate: async ({ cookie }) => caller(cookie!.slice('session='.length)),
      hasSession: (cookie) => cookie.startsWith('session='),
      authenticate: {
        paths: ['/sign-in/email'],
        async respond({ body }) {
          await work(String(body.account))
          return { cookies: [], json: '{}' }
        },
      },
    },
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
  const calls = unary.map(({ parent, name }) => (accountId: string) => {
    const isAdmin = parent.typeName.includes('.admin.')
    const by: Record<string, string> = isAdmin
      ? { cookie: `session=${accountId}` }
      : { authorization: `Bearer ${accountId}` }
    return post(`/${parent.typeName}/${name}`, by)
  })
  const signIn = (account: string) => post('/api/auth/sign-in/email', {}, { account })
  return { calls, signIn }
}

/** Holds the lock of an account until its test ends, and starts the services, whose methods take it. */
async function startBesideLock() {
  const { url, db, clock, accountId } = await testAccount()
  const sql = postgres(url, { max: 2 })
  const letGo = Promise.withResolvers<void>()
  const isLocked = Promise.withResolvers<void>()
  const ended = sql.begin(async (tx) => {
    await tx`select from accounts where id = ${accountId} for update`
    isLocked.resolve()
    await letGo.promise
  })
  await isLocked.promise
  atEnd(async () => {
    letGo.resolve()
    await ended
    await sql.end()
  })
  const other = await createAccount(db, clock, 'Other')
  const services = await startServices((account) => changeOf(db, account))
  const waiting = () => countWaiting(sql, '%for no key update%')
  return { ...services, accountId, other: other.id, waiting, letGo: letGo.resolve }
}

const changeOf = (db: Database, accountId: string) => db.transaction((tx: Transaction) => lockAccount(tx, accountId))

test('calls of one account on every method hold two connections; other accounts find one on every method', async () => {
  const { calls, accountId, other, waiting, letGo } = await startBesideLock()
  expect(calls.length).toBeGreaterThan(80)
  const held = Array.from({ length: CALLS }, (_, i) => calls[i % calls.length]!(accountId))
  expect(await waiting()).toBe(MOST)
  for (const call of calls) {
    const response = await within(3_000, call(other), undefined)
    expect(response?.status).toBe(200)
  }
  letGo()
  const statuses = (await Promise.all(held)).map(({ status }) => status)
  expect(statuses).toEqual(statuses.map(() => 200))
})

test('sign-ins of one network hold two connections', async () => {
  const { calls, signIn, accountId, other, waiting, letGo } = await startBesideLock()
  const held = Array.from({ length: CALLS }, () => signIn(accountId))
  expect(await waiting()).toBe(MOST)
  expect((await within(3_000, calls[0]!(other), undefined))?.status).toBe(200)
  letGo()
  await Promise.all(held)
})

test('a transaction within one does not wait for its caller', async () => {
  const { db, clock, accountId } = await testAccount()
  const other = await createAccount(db, clock, 'Other')
  const { calls } = await startServices((account) =>
    db.transaction(async (tx) => {
      await lockAccount(tx, other.id)
      await changeOf(db, account)
    }),
  )
  const held = Array.from({ length: 8 }, () => calls[0]!(accountId))
  for (const { status } of await Promise.all(held)) expect(status).toBe(200)
})
