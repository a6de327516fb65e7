import postgres from 'postgres'
import { expect, test } from 'vitest'
import { createDatabaseClock, databaseTime } from '../../server/db/clock.ts'
import { isLocked } from '../../server/db/collector.ts'
import { removeContents } from '../../server/db/contents.ts'
import { dropExpired } from '../../server/db/drop-expired.ts'
import { createSealer } from '../../server/db/encryption.ts'
import { keepEventOrder } from '../../server/db/event-order.ts'
import { firstIdAt } from '../../server/db/ids.ts'
import { applyMigrations } from '../../server/db/migrations.ts'
import { makePartitions } from '../../server/db/partitions.ts'
import { HISTORY } from '../../server/db/schema.ts'
import { run } from '../../server/db/statement.ts'
import { createClaim } from '../../server/ledger/claim.ts'
import { LEFT_TO_TEMPORAL } from '../../server/ledger/first-attempts-offer.ts'
import { createMarker } from '../../server/ledger/marker.ts'
import { makeNextReceiptKey } from '../../server/receipts/receipt-keys.ts'
import { delivered } from '../../server/sending/outcome.ts'
import { createRecordUntilStored } from '../../server/sending/until-stored.ts'
import { newClaim } from '../harness/claim.ts'
import { migrateFirst } from '../harness/older-database.ts'
import { waitForDayOf } from '../harness/periods.ts'
import { type TestDatabase, testDatabase } from '../harness/postgres.ts'
import { recipient } from '../harness/recipient.ts'
import { letRun } from '../harness/waits.ts'
import { PREVIOUS_RELEASE } from '../releases.ts'

// Statement 33: a reader that stays open, and each kind of DDL of the service beside it. No send waits for longer than
// 300 ms. Migrations, which wait for a second, may keep a send for that long.

const DAY_MS = 86_400_000
const TABLES = Object.keys(HISTORY)

async function dayTable(database: TestDatabase, table: string, day: number): Promise<string> {
  const startMs = Math.floor((await databaseTime(database.db)) / DAY_MS + day) * DAY_MS
  return `${table}_${new Date(startMs).toISOString().slice(0, 10).replaceAll('-', '')}`
}

/** Makes a day of history that is over. */
async function makeOldDay(database: TestDatabase, day: number): Promise<void> {
  const startMs = Math.floor((await databaseTime(database.db)) / DAY_MS + day) * DAY_MS
  for (const table of TABLES) {
    const bounds = `from ('${firstIdAt(startMs)}') to ('${firstIdAt(startMs + DAY_MS)}')`
    await run(
      database.db,
      `create table ${await dayTable(database, table, day)} partition of ${table} for values ${bounds}`,
    )
  }
}

/** Holds the locks of a reader on every table of ours, and on every day. */
async function holdReader(database: TestDatabase): Promise<() => Promise<void>> {
  const sql = postgres(database.url, { max: 1, onnotice: () => {} })
  await sql.unsafe('begin isolation level repeatable read')
  const tables = await sql`
    select format('%I.%I', n.nspname, c.relname) as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname in ('public', 'drizzle') and c.relkind in ('r', 'p') and not c.relispartition`
  for (const { name } of tables) await sql.unsafe(`select * from ${name} limit 1`)
  for (const table of TABLES) await sql.unsafe(`select count(*) from ${table}`)
  return async () => {
    await sql.unsafe('rollback')
    await sql.end()
  }
}

/** Sends one after the other, in four lanes, until `work` ends. Returns the longest time of a commit. */
async function longestCommitDuring(database: TestDatabase, work: () => Promise<unknown>): Promise<number> {
  const { db } = database
  const clock = await createDatabaseClock(db)
  const [claim, mark] = [createClaim(db), createMarker(db)]
  const record = createRecordUntilStored({ db, clock }, LEFT_TO_TEMPORAL)
  let longestMs = 0
  let hasEnded = false
  async function timed<T>(commit: Promise<T>): Promise<T> {
    const startedMs = performance.now()
    const result = await commit
    longestMs = Math.max(longestMs, performance.now() - startedMs)
    return result
  }
  const lanes = Array.from({ length: 4 }, async () => {
    while (!hasEnded) {
      const send = newClaim()
      await timed(claim(send))
      await timed(mark(send.messageId, send.claimId, [0]))
      const content = { sizeBytes: 7, digest: 'ab'.repeat(32) }
      const outcomes = [delivered(recipient(send.recipients[0]!.email))]
      await timed(record({ claim: send, content, outcomes }, performance.now() + 20_000))
    }
  })
  await work().finally(() => {
    hasEnded = true
  })
  await Promise.all(lanes)
  clock.stop()
  return longestMs
}

interface Kind {
  what: string
  /** The file whose DDL runs. */
  of: string
  prepare?(database: TestDatabase): Promise<unknown>
  change(database: TestDatabase): Promise<unknown>
  /** Whether it can be done while the reader is open. */
  isDoneBesideReader: boolean
  /** The longest that one of its locks may keep a send waiting. */
  sendMs?: number
}

const KINDS: Kind[] = [
  {
    what: 'a new day',
    of: 'server/db/partitions.ts',
    change: ({ db }) => makePartitions(db, 3),
    isDoneBesideReader: true,
  },
  {
    what: 'a day that is over',
    of: 'server/db/drop-expired.ts',
    prepare: (database) => makeOldDay(database, -95),
    change: ({ url }) => dropExpired(url),
    isDoneBesideReader: false,
  },
  {
    what: 'contents that are over',
    of: 'server/db/contents.ts',
    prepare: (database) => makeOldDay(database, -20),
    change: ({ url }) => removeContents(url, 10),
    isDoneBesideReader: true,
  },
  {
    what: 'an epoch of the event stream',
    of: 'server/db/event-order.ts',
    prepare: ({ db }) => run(db, `update event_orders set cluster = '1'`),
    change: ({ db }) => keepEventOrder(db),
    isDoneBesideReader: false,
  },
  {
    what: 'a key of receipts',
    of: 'server/receipts/receipt-keys.ts',
    change: ({ db }) =>
      makeNextReceiptKey({
        db,
        clock: { now: () => Date.now(), stop() {} },
        sealer: createSealer([{ id: 'k', key: Buffer.alloc(32) }]),
      }),
    isDoneBesideReader: true,
  },
  {
    what: 'the check of migrations at a start',
    of: 'server/db/migrations.ts',
    change: ({ url }) => applyMigrations(url),
    isDoneBesideReader: true,
  },
]

/** Beside what the machine takes for itself. */
const SEND_MS = 300

test.each(KINDS)('beside a reader that stays open, $what keeps no send waiting', async (kind) => {
  await waitForDayOf(60_000)
  const database = await testDatabase()
  await kind.prepare?.(database)
  const usualMs = await longestCommitDuring(database, () => letRun(1_000))
  const release = await holdReader(database)
  let failure: unknown
  const longestMs = await longestCommitDuring(database, () =>
    kind.change(database).catch((error) => {
      failure = error
    }),
  )
  console.log(`${kind.what}: ${Math.round(longestMs)} ms, usually ${Math.round(usualMs)} ms`)
  expect(longestMs).toBeLessThan((kind.sendMs ?? SEND_MS) + usualMs)
  if (kind.isDoneBesideReader) expect(failure).toBeUndefined()
  else expect(isLocked(failure)).toBe(true)
  await release()
  await kind.change(database)
})

const MIGRATIONS_OF_0_2 = Number(/^\d+/.exec(PREVIOUS_RELEASE.lastMigration)![0]) + 1

test('a migration that gets no lock gives it up after a second, and is applied when the reader has left', async () => {
  const database = await testDatabase('template1')
  await migrateFirst(database.db, MIGRATIONS_OF_0_2)
  await database.db.$client.end()
  const release = await holdReader(database)
  const others = postgres(database.url, { max: 1, onnotice: () => {} })
  const waits: Error[] = []
  const hasWaited = Promise.withResolvers<void>()
  let isApplied = false
  const applying = applyMigrations(database.url, (error) => {
    waits.push(error)
    if (waits.length === 2) hasWaited.resolve()
  }).then(() => {
    isApplied = true
  })
  let longestMs = 0
  const reading = (async () => {
    while (!isApplied) {
      const startedMs = performance.now()
      for (const table of TABLES) await others.unsafe(`select from ${table} limit 1`)
      longestMs = Math.max(longestMs, performance.now() - startedMs)
    }
  })()
  await hasWaited.promise
  expect(waits.every(isLocked)).toBe(true)
  // Each table may keep it for a second.
  expect(longestMs).toBeLessThan(TABLES.length * 1_000)
  await release()
  await applying
  await reading
  await others.end()
})
