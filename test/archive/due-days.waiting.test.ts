import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, beforeEach, expect, test } from 'vitest'
import { checkFile } from '../../server/archive/archive-day.ts'
import { daysOf, manifestOf, readManifest, TABLES } from '../../server/archive/days.ts'
import { createDropRule, oldDays } from '../../server/archive/due-days.ts'
import { withArchive } from '../../server/archive/open.ts'
import { type DayReport, writeOldDays } from '../../server/archive/write-old-days.ts'
import { databaseTime } from '../../server/db/clock.ts'
import { dropExpired } from '../../server/db/drop-expired.ts'
import { firstIdAt } from '../../server/db/ids.ts'
import { HISTORY } from '../../server/db/schema.ts'
import { run } from '../../server/db/statement.ts'
import { waitForDayOf } from '../harness/periods.ts'
import { testDatabase } from '../harness/postgres.ts'
import { temporaryFolder } from '../harness/until-end.ts'

const DAY_MS = 86_400_000

let folder: string
await waitForDayOf(60_000)
const database = await testDatabase()
const todayMs = Math.floor((await databaseTime(database.db)) / DAY_MS) * DAY_MS
beforeAll(async () => {
  for (const age of [88, 89, 90, 91, 96, 97, 98]) await makeDay(age)
})
beforeEach(async () => {
  folder = temporaryFolder()
})

const day = (age: number) => new Date(todayMs - age * DAY_MS).toISOString().slice(0, 10)

async function makeDay(age: number): Promise<void> {
  const startMs = todayMs - age * DAY_MS
  for (const table of Object.keys(HISTORY)) {
    const bounds = `from ('${firstIdAt(startMs)}') to ('${firstIdAt(startMs + DAY_MS)}')`
    await run(
      database.db,
      `create table ${table}_${day(age).replaceAll('-', '')} partition of ${table} for values ${bounds}`,
    )
  }
}

/** Runs the process that writes, as the worker does. */
async function write(archive: string, signal = new AbortController().signal): Promise<DayReport[]> {
  const reports: DayReport[] = []
  process.env.HISTORY_ARCHIVE = archive
  process.env.DATABASE_URL = database.url
  try {
    await writeOldDays((report) => reports.push(report), signal)
  } finally {
    delete process.env.HISTORY_ARCHIVE
    delete process.env.DATABASE_URL
  }
  return reports
}

test('days that ended 88 days ago or earlier are old enough for the archive', async () => {
  expect(await oldDays(database.db)).toEqual([98, 97, 96, 91, 90, 89].map(day))
})

test('a day goes at 90 days when the archive has it, else at 97, and never when the archive is required', async () => {
  const written = new Set([day(91), day(98)])
  const ages = [91, 96, 97, 98]
  const dropped = async (rule: { written: Set<string>; isRequired: boolean }) => {
    const mayDrop = await createDropRule(database.db, rule)
    return ages.filter((age) => mayDrop(day(age)))
  }
  expect(await dropped({ written, isRequired: false })).toEqual([91, 98])
  expect(await dropped({ written: new Set(), isRequired: false })).toEqual([98])
  expect(await dropped({ written, isRequired: true })).toEqual([91, 98])
  expect(await dropped({ written: new Set(), isRequired: true })).toEqual([])
})

test('a process of its own writes every old day once; it reports a day that fails, and leaves it for the next run', async () => {
  await mkdir(join(folder, `day=${day(98)}`), { recursive: true })
  await writeFile(join(folder, manifestOf(day(98))), '{}')
  // A file in place of the folder of a day.
  await writeFile(join(folder, `day=${day(96)}`), '')
  const reports = await write(folder)
  expect(reports.map(({ day }) => day)).toEqual([97, 96, 91, 90, 89].map(day))
  expect(reports.filter((report) => 'fault' in report)).toEqual([
    { day: day(96), fault: expect.stringMatching(/ENOTDIR|EEXIST/) },
  ])
  await rm(join(folder, `day=${day(96)}`))
  expect((await write(folder)).map(({ day }) => day)).toEqual([day(96)])
  expect(await write(folder)).toEqual([])
})

test('a process that is killed at any moment leaves whole days, and the next one writes the others', async () => {
  const written = async () =>
    withArchive({ folder }, async (parts) => {
      const days = await daysOf(parts.store)
      for (const day of days) {
        const { tables } = await readManifest(parts.store, day)
        for (const table of TABLES) await checkFile(parts, { day, table, facts: tables[table]! })
      }
      return days
    })
  for (let round = 0; (await written()).length < 6; round++) {
    const killed = write(folder, AbortSignal.timeout(700 + 150 * round))
    await killed.catch((error: Error) => expect(error.name).toBe('AbortError'))
    // The killed process would have it for half a minute more.
    await run(database.db, 'delete from leases')
  }
  expect(await written()).toEqual([98, 97, 96, 91, 90, 89].map(day))
})

test('an archive that cannot be used is an error with its words', async () => {
  await expect(write(join(folder, 'none'))).rejects.toThrow(/ENOENT: no such file or directory/)
  await expect(write('folder')).rejects.toThrow('HISTORY_ARCHIVE must be an absolute path of a folder')
})

test('dropping leaves the tables alone that the rule keeps', async () => {
  const kept = day(98).replaceAll('-', '')
  const dropped = await dropExpired(database.url, (name) => !name.endsWith(kept))
  expect(dropped.some((name) => name.endsWith(kept))).toBe(false)
  expect(dropped.some((name) => name.endsWith(day(97).replaceAll('-', '')))).toBe(true)
})
