import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { type ConnectError, createServiceImplSpec } from '@connectrpc/connect'
import { afterAll, beforeEach, expect, test } from 'vitest'
import { ImportService, ImportState } from '../../gen/verdict/admin/v1/imports_pb.ts'
import { ReplayService, ReplayState } from '../../gen/verdict/admin/v1/replays_pb.ts'
import { DeliveryStatus } from '../../gen/verdict/v1/outcomes_pb.ts'
import { createImportService } from '../../server/admin/imports.ts'
import { createReplayService } from '../../server/admin/replays.ts'
import { connect, type Database } from '../../server/db/connect.ts'
import { eq, sql } from '../../server/db/drizzle.ts'
import { newId } from '../../server/db/ids.ts'
import { auditEntries, rangeReplays, suppressionImports } from '../../server/db/people-schema.ts'
import { webhookEndpoints } from '../../server/db/schema.ts'
import { createAccount } from '../../server/directory/accounts.ts'
import { reasonOf } from '../../server/errors.ts'
import { testAccount } from '../harness/account.ts'
import { callsWith, startDashboard } from '../harness/person.ts'

// An account has at most five running replays of a range and five running imports, over all processes.

type Dashboard = Awaited<ReturnType<typeof startDashboard>>

const started: string[] = []

const world = await testAccount()
const otherDb = connect(world.url)
const first = await startServer(world.db)
const servers: [Dashboard, Dashboard] = [first, await startServer(otherDb, first)]
afterAll(() => otherDb.$client.end({ timeout: 5 }))
beforeEach(() => {
  started.length = 0
})

/** A server with its own connections, as another process has. It accepts the sessions of the first one. */
function startServer(db: Database, first?: Dashboard): Promise<Dashboard> {
  const { clock } = world
  const workflows = { startReplay: async ({ id }: { id: string }) => void started.push(id), retryNow: async () => {} }
  const report = (error: unknown) => {
    throw error
  }
  const links = { workflowLink: async () => ({}), deliveryViews: () => [] }
  const replays = createReplayService({ db, clock, workflows, ...links, report })
  const imports = createImportService({ db, clock })
  return startDashboard({
    db,
    clock,
    sealer: first?.sealer,
    services: [
      createServiceImplSpec<typeof ReplayService>(ReplayService, replays),
      createServiceImplSpec<typeof ImportService>(ImportService, imports),
    ],
  })
}

/** A new account with an endpoint, and clients of one of its people at both servers. */
async function account() {
  const { db, clock } = world
  const { id } = await createAccount(db, clock, 'Test')
  await db.insert(webhookEndpoints).values({
    id,
    accountId: id,
    first: true,
    url: 'https://hooks.example.com/',
    secret: Buffer.of(),
    events: ['email.delivery', 'email.feedback'],
  })
  const { cookie } = await servers[0].person({ accountId: id })
  const calls = callsWith(cookie, id)
  return {
    id,
    replays: servers.map(({ url }) => calls.client(ReplayService, url)),
    imports: servers.map(({ url }) => calls.client(ImportService, url)),
  }
}

/** Calls both servers at the same moment, in turn. Resolves to the results and to the errors. */
async function atOnce<Client, Result>(clients: Client[], count: number, call: (client: Client, i: number) => Result) {
  const calls = Array.from({ length: count }, (_, i) => call(clients[i % clients.length]!, i))
  const settled = await Promise.allSettled(calls)
  return {
    results: settled.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : [])),
    errors: settled.flatMap((one) => (one.status === 'rejected' ? [one.reason as ConnectError] : [])),
  }
}

const ago = (minutes: number) => timestampFromMs(Math.floor(world.clock.now()) - minutes * 60_000)

const said = (error: ConnectError) => [reasonOf(error), error.metadata.get('retry-after'), error.rawMessage]

const countOf = async (accountId: string, action: 'replay.start' | 'suppression.import') => {
  const entries = await world.db.select().from(auditEntries).where(eq(auditEntries.accountId, accountId))
  return entries.filter((entry) => entry.action === action).length
}

const filters = {
  'without a time': {},
  'until a time': { to: timestampFromMs(Date.now() - 60_000) },
  'of a status and a tag': { status: DeliveryStatus.BOUNCED, tag: 'welcome', notAcknowledged: true },
}
test.for(Object.entries(filters))('60 starts of a replay %s are one replay', async ([, filter]) => {
  const { id, replays } = await account()
  const { results, errors } = await atOnce(replays, 60, (client) => client.startReplay({ filter }))
  expect(errors).toEqual([])
  expect(new Set(results.map(({ replay }) => replay!.replayId)).size).toBe(1)
  expect(started).toHaveLength(1)
  expect(await countOf(id, 'replay.start')).toBe(1)
})

test('a replay with another pace is the running one, and one with another filter is not', async () => {
  const { replays } = await account()
  const [client] = replays
  const start = async (filter: object, perSecond = 50) => (await client!.startReplay({ filter, perSecond })).replay!
  const first = await start({})
  expect(await start({}, 7)).toEqual(first)
  // The end of the first one is the moment of its start. A call that names that moment asks for something else.
  const others = [{ to: ago(1) }, { from: ago(60) }, { tag: 'welcome' }, { tenantId: 'acme' }]
  const ids = [first.replayId]
  for (const filter of others) ids.push((await start(filter)).replayId)
  expect(new Set(ids).size).toBe(5)
})

test('a replay of another account with the same filter is its own', async () => {
  const [own, other] = [await account(), await account()]
  const [first, second] = [
    await own.replays[0]!.startReplay({ filter: {} }),
    await other.replays[0]!.startReplay({ filter: {} }),
  ]
  expect(first.replay!.replayId).not.toBe(second.replay!.replayId)
})

test('a replay that has ended does not stand for a new one', async () => {
  const { replays } = await account()
  const [client] = replays
  const { replay: first } = await client!.startReplay({ filter: {} })
  await client!.cancelReplay({ replayId: first!.replayId })
  const { replay: second } = await client!.startReplay({ filter: {} })
  expect(second!.replayId).not.toBe(first!.replayId)
  expect(second!.state).toBe(ReplayState.RUNNING)
})

test('of 20 replays that are started at the same moment over two servers five run, and the others are refused', async () => {
  const { id, replays } = await account()
  const { results, errors } = await atOnce(replays, 20, (client, i) => client.startReplay({ filter: { tag: `t${i}` } }))
  expect(results).toHaveLength(5)
  expect(errors.map(said)).toEqual(
    errors.map(() => [
      'rate_limit_exceeded',
      '60',
      'This account has 5 running replays, and it can have 5. Cancel one of them, or wait until one has ended.',
    ]),
  )
  expect(started).toHaveLength(5)
  expect(await countOf(id, 'replay.start')).toBe(5)

  // A repeat of a running one is no sixth.
  const [{ replay }] = results as [(typeof results)[0]]
  const repeat = await replays[1]!.startReplay({ filter: { tag: replay!.filter!.tag } })
  expect(repeat.replay!.replayId).toBe(replay!.replayId)
  await replays[0]!.cancelReplay({ replayId: replay!.replayId })
  expect((await replays[1]!.startReplay({ filter: { tag: 'sixth' } })).replay!.state).toBe(ReplayState.RUNNING)
})

test('of 20 imports that are started at the same moment over two servers five run, and the others are refused', async () => {
  const { id, imports } = await account()
  const file = (i: number) => ({ fileName: `${i}.csv`, lines: 10, digest: i.toString(16).padStart(64, '0') })
  const { results, errors } = await atOnce(imports, 20, (client, i) => client.startImport(file(i)))
  expect(results).toHaveLength(5)
  expect(errors.map(said)).toEqual(
    errors.map(() => [
      'rate_limit_exceeded',
      '60',
      'This account has 5 running imports, and it can have 5. Cancel one of them, or choose its file again to finish it.',
    ]),
  )
  expect(await countOf(id, 'suppression.import')).toBe(5)

  const [started] = results.map((result) => result.import!)
  const again = await imports[1]!.startImport(file(Number.parseInt(started!.fileName, 10)))
  expect(again.import!.importId).toBe(started!.importId)
  await imports[0]!.cancelImport({ importId: started!.importId })
  expect((await imports[1]!.startImport(file(20))).import!.state).toBe(ImportState.RUNNING)
})

test('40 starts of one import are one import', async () => {
  const { id, imports } = await account()
  const file = { fileName: 'list.csv', lines: 10, digest: 'f'.repeat(64) }
  const { results, errors } = await atOnce(imports, 40, (client) => client.startImport(file))
  expect(errors).toEqual([])
  expect(new Set(results.map((result) => result.import!.importId)).size).toBe(1)
  expect(await countOf(id, 'suppression.import')).toBe(1)
})

test('a running replay and a running import are listed, however many newer ones have ended', async () => {
  const { id, replays, imports } = await account()
  const { replay } = await replays[0]!.startReplay({ filter: {} })
  const file = { fileName: 'list.csv', lines: 10, digest: 'e'.repeat(64) }
  const { import: running } = await imports[0]!.startImport(file)
  const ended = { accountId: id, createdBy: 'ann@people.test', endedAt: sql`now()` }
  const ids = Array.from({ length: 60 }, () => newId(world.clock.now()))
  await world.db.insert(rangeReplays).values(
    ids.map((each) => ({
      ...ended,
      id: each,
      state: 'finished' as const,
      filter: {},
      perSecond: 1,
      total: 0,
      doneUntil: each,
    })),
  )
  await world.db.insert(suppressionImports).values(
    ids.map((each) => ({
      ...ended,
      id: each,
      state: 'finished' as const,
      tenantId: '',
      fileName: 'a.csv',
      digest: Buffer.of(1),
      lines: 1,
    })),
  )
  const listedReplays = (await replays[0]!.listReplays({})).replays
  expect([listedReplays.length, listedReplays.at(-1)!.replayId]).toEqual([50, replay!.replayId])
  const listedImports = (await imports[0]!.listImports({})).imports
  expect([listedImports.length, listedImports.at(-1)!.importId]).toEqual([50, running!.importId])
})
