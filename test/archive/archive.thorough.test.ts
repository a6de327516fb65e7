import { existsSync, utimesSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { operator } from '../../cli/operator.ts'
import { eraseIn, mentionsIn } from '../../server/archive/addresses.ts'
import { archiveDay, checkFile } from '../../server/archive/archive-day.ts'
import { daysOf, fileOfTable, readManifest, TABLES } from '../../server/archive/days.ts'
import { parquetRows } from '../../server/archive/duckdb.ts'
import { withArchive } from '../../server/archive/open.ts'
import { publicId } from '../../server/db/ids.ts'
import { takeLease } from '../../server/db/leases.ts'
import { run } from '../../server/db/statement.ts'
import { erase } from '../../server/erasure/erase.ts'
import { wantedAddress } from '../../server/erasure/spellings.ts'
import { createErasedForm } from '../../server/reputation/erased-form.ts'
import { temporaryFolder } from '../harness/until-end.ts'
import { startApi } from '../services/api.ts'

// A day of real sends, written into a folder and read by DuckDB.

const api = await startApi()
const folder = temporaryFolder()
beforeAll(async () => {
  api.world.exchanger.script = { rcpt: '550 5.1.1 <ann@example.net> unknown, "quoted"' }
  const emails = [
    { to: 'Ann <ann@example.net>', subject: 'Ann, "quotes" and ß, ,', metadata: { order: '17' } },
    { to: 'bob@example.net', subject: 'Yours', text: 'secret content', tag: 'for ann@example.net' },
  ]
  for (const email of emails) expect((await api.send(email)).json).not.toHaveProperty('error')
})

const WANTED = wantedAddress('ann@example.net', createErasedForm(new Uint8Array(32)))
const today = () => new Date().toISOString().slice(0, 10)
const place = () => ({ folder })
const rows = async (query: (file: (table: (typeof TABLES)[number]) => string) => string) =>
  withArchive(place(), async ({ duckdb }) => {
    const file = (table: (typeof TABLES)[number]) => parquetRows(join(folder, fileOfTable(today(), table)))
    return (await duckdb.connection.runAndReadAll(query(file))).getRowObjectsJson()
  })

test('a day is written with all rows of all tables of history, and read back with the same digest', async () => {
  const manifest = await withArchive(place(), (parts) => archiveDay({ db: api.world.db, ...parts }, today()))
  expect(Object.keys(manifest.tables)).toEqual(TABLES)
  for (const table of TABLES) {
    const [stored] = await run<{ rows: number }>(api.world.db, `select count(*)::int as rows from ${table}`)
    expect(manifest.tables[table]!.rows).toBe(stored!.rows)
  }
  await withArchive(place(), async (parts) => {
    expect(await daysOf(parts.store)).toEqual([today()])
    for (const table of TABLES)
      await checkFile(parts, { day: today(), table, facts: (await readManifest(parts.store, today())).tables[table]! })
  })
})

test('an archived row has public ids, JSON, times and texts as they were, and no content', async () => {
  const stored = await run<{ id: string; request: { subject: string } }>(
    api.world.db,
    'select id, request from messages order by id',
  )
  const archived = await rows((file) => `select * from ${file('messages')} order by id`)
  expect(archived.map(({ id }) => id)).toEqual(stored.map(({ id }) => publicId('msg', id)))
  expect(archived.map(({ request }) => JSON.parse(request as string).subject)).toEqual(
    stored.map(({ request }) => request.subject),
  )
  expect(JSON.stringify(archived)).not.toContain('secret content')
  expect(archived[1]!.tag).toBe('for ann@example.net')
  expect(archived[0]!.tag).toBeNull()
  const [reply] = await rows(
    (file) => `select smtp ->> '$.reply' as reply from ${file('recipients')} where email = 'ann@example.net'`,
  )
  expect(reply!.reply).toContain('"quoted"')
})

test('the questions of the guide have answers', async () => {
  const guide = await readFile('docs/archive.md', 'utf8')
  const [mails, providers, reply] = [...guide.matchAll(/^```sql\n(.*?);\n```$/gms)].map(([, sql]) => sql!)
  const ask = (sql: string) => rows(() => sql.replaceAll('/srv/history', folder))
  const thisYear = mails!.replaceAll(/2026-01-01/g, '2000-01-01').replaceAll(/2027-01-01/g, '2100-01-01')
  expect(await ask(thisYear.replace('ann@example.com', 'ann@example.net'))).toMatchObject([
    { subject: 'Ann, "quotes" and ß, ,', status: 'bounced', reason: 'mailbox_does_not_exist' },
  ])
  expect(await ask(providers!)).toMatchObject([{ month: today().slice(0, 7), emails: '2', bounced: '2' }])
  const [{ id }] = (await rows((file) => `select id from ${file('messages')} order by id`)) as [{ id: string }]
  expect(await ask(reply!.replace(/msg_\w+/, id))).toMatchObject([
    { email: 'ann@example.net', code: '550', reply: expect.stringContaining('unknown') },
  ])
})

test('while an erasure runs no day is written', async () => {
  const lease = await takeLease(api.world.db, 'erasure')
  const writing = withArchive(place(), (parts) => archiveDay({ db: api.world.db, ...parts }, today()))
  await expect(writing).rejects.toThrow('an erasure is running')
  await lease!.free()
})

test('an address is found and erased in the archive as in the database, and the day stays whole', async () => {
  const wanted = WANTED
  const before = await withArchive(place(), async (parts) => {
    const found: Record<string, number> = {}
    for await (const { place, rows } of mentionsIn(parts, { wanted })) found[place.table] = rows.length
    return found
  })
  expect(before).toEqual({ messages: 2, recipients: 2, events: 2 })
  const counts = await withArchive(place(), (parts) => eraseIn(parts, { wanted }))
  expect(counts).toEqual({ [today()]: 6 })
  const text = JSON.stringify(
    await Promise.all(TABLES.map((table) => rows((file) => `select * from ${file(table)}`))),
  ).toLowerCase()
  expect(text).not.toMatch(/\bann\b|ann@|\\nann/)
  expect(text).toContain(wanted.erased)
  expect(text).toContain('bob@example.net')
  await withArchive(place(), async (parts) => {
    for await (const found of mentionsIn(parts, { wanted })) expect(found).toBeUndefined()
    const { tables } = await readManifest(parts.store, today())
    for (const table of TABLES) await checkFile(parts, { day: today(), table, facts: tables[table]! })
  })
})

test('erased in the archive or in the database before the day is written: the rows are the same', async () => {
  const { db, clock } = api.world
  const parsed = (value: unknown) => (/^[{[]/.test(String(value)) ? JSON.parse(String(value)) : value)
  const all = async () => {
    const tables = await Promise.all(TABLES.map((table) => rows((file) => `select * from ${file(table)}`)))
    return tables.map((found) => found.map((row) => Object.values(row).map(parsed)))
  }
  const inArchive = await all()
  await erase({ db, clock, authorOf: operator, waitMs: 0 }, { wanted: WANTED })
  await withArchive(place(), (parts) => archiveDay({ db, ...parts }, today()))
  expect(await all()).toEqual(inArchive)
})

test('a file that another one has replaced is found', async () => {
  await withArchive(place(), async (parts) => {
    const { tables } = await readManifest(parts.store, today())
    await writeFile(join(folder, fileOfTable(today(), 'events')), 'no Parquet')
    const check = checkFile(parts, { day: today(), table: 'events', facts: tables.events! })
    await expect(check).rejects.toThrow(`${fileOfTable(today(), 'events')} is not the file that was written`)
  })
})

test('a day without a manifest, or with a half-written file, is no day of the archive', async () => {
  await mkdir(join(folder, 'day=2020-01-01'))
  await writeFile(join(folder, 'day=2020-01-01', '.manifest.json.unfinished'), '{')
  await writeFile(join(folder, 'day=2020-01-01', 'messages.parquet'), 'half')
  expect(await withArchive(place(), ({ store }) => daysOf(store))).toEqual([today()])
})

test('a row of any length is written', async () => {
  const { db } = api.world
  const first = '(select id from messages order by id limit 1)'
  const subject = `repeat('x', case when id = ${first} then $1::int else $2::int end)`
  for (const lengths of [
    [1, 16_384],
    [65_536, 100_000],
    [1, 1_000_000],
  ]) {
    await db.$client.begin(async (tx) => {
      await run(tx, `select set_config('verdict.erasing', 'on', true)`)
      await run(tx, `update messages set request = json_build_object('subject', ${subject})`, lengths)
    })
    await withArchive(place(), (parts) => archiveDay({ db, ...parts }, today()))
    const written = await rows(
      (file) => `select length(request ->> '$.subject')::int as length from ${file('messages')} order by id`,
    )
    expect(written.map(({ length }) => length)).toEqual(lengths)
  }
})

test('the folder that a killed process has left goes after a day, and that of one that runs stays', async () => {
  const [left, inUse] = [
    await mkdtemp(join(tmpdir(), 'verdict-archive-')),
    await mkdtemp(join(tmpdir(), 'verdict-archive-')),
  ]
  await writeFile(join(left, 'rows.csv'), 'a day of history')
  const overADayAgo = Date.now() / 1_000 - 90_000
  utimesSync(left, overADayAgo, overADayAgo)
  await withArchive(place(), async () => expect([existsSync(left), existsSync(inUse)]).toEqual([false, true]))
  await rm(inUse, { recursive: true })
})
