import { globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { expect, test } from 'vitest'
import packageJson from '../../package.json' with { type: 'json' }
import { compareReleases, knownMigrations, oldestReleaseOf } from '../../server/db/applied-migrations.ts'
import { temporaryFolder } from '../harness/until-end.ts'
import { CONTRACTIONS, PREVIOUS_RELEASE, unpackPreviousFiles } from '../releases.ts'

const FOLDER = 'server/db/migrations'

interface Journal {
  entries: { idx: number; when: number; tag: string }[]
}

const { entries } = JSON.parse(readFileSync(join(FOLDER, 'meta/_journal.json'), 'utf8')) as Journal
const tags = entries.map(({ tag }) => tag)
const number = (tag: string) => tag.slice(0, 4)

const filesOf = (folder: string) =>
  globSync('*.sql', { cwd: folder })
    .toSorted()
    .map((file) => ({ tag: basename(file, '.sql'), sql: readFileSync(join(folder, file), 'utf8') }))

test('the journal lists every migration once, in the order of their numbers and times', () => {
  expect(tags).toEqual(filesOf(FOLDER).map(({ tag }) => tag))
  expect(tags.map(number)).toEqual(entries.map(({ idx }) => String(idx).padStart(4, '0')))
  const times = entries.map(({ when }) => when)
  expect(times).toEqual(times.toSorted((a, b) => a - b))
})

test('the newest migration alone has a snapshot: drizzle-kit reads no other', () => {
  expect(globSync('*_snapshot.json', { cwd: join(FOLDER, 'meta') })).toEqual([`${number(tags.at(-1)!)}_snapshot.json`])
})

test('the next release has one migration, or none', () => {
  const released = tags.indexOf(PREVIOUS_RELEASE.lastMigration)
  expect(released).toBeGreaterThanOrEqual(0)
  expect(tags.slice(released + 2)).toEqual([])
})

test('every migration since 0.2 names the oldest release that may run on it', () => {
  const releases = filesOf(FOLDER)
    .filter(({ tag }) => tag > '0013_reports')
    .map(({ sql }) => oldestReleaseOf(sql))
  expect(knownMigrations().map(({ oldestRelease }) => oldestRelease)).toEqual([
    ...Array(14).fill(undefined),
    ...releases,
  ])
  // A database that was outgrown stays so. This version runs on its own migrations.
  expect(releases).toEqual(releases.toSorted(compareReleases))
  expect(compareReleases(releases.at(-1)!, packageJson.version)).toBeLessThanOrEqual(0)
  expect(() => oldestReleaseOf('ALTER TABLE "cell" ADD COLUMN "x" text;')).toThrow('does not name the oldest release')
})

test('a migration that takes something away names the previous release or a later one', () => {
  const { oldestRelease = '' } = knownMigrations()[tags.indexOf(PREVIOUS_RELEASE.lastMigration) + 1] ?? {}
  const previous = PREVIOUS_RELEASE.tag.slice(1)
  if (CONTRACTIONS.length > 0) expect(compareReleases(oldestRelease, previous)).toBeGreaterThanOrEqual(0)
})

// A database is known by the hashes of its migrations: an edited one would make those of all users unknown.
test('no migration that is released has changed', () => {
  const folder = temporaryFolder()
  unpackPreviousFiles(folder, [FOLDER])
  const released = filesOf(join(folder, FOLDER))
  expect(released.at(-1)!.tag).toBe(PREVIOUS_RELEASE.lastMigration)
  expect(filesOf(FOLDER).slice(0, released.length)).toEqual(released)
})
