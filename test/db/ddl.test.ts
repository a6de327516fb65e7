import { globSync, readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { expect, test } from 'vitest'

// The law: no DDL of ours waits for a lock without a limit. `run` takes a string, and the tag `ddl` makes none: only
// server/db/ddl.ts runs what it makes, and sets the limit. So every statement that changes or locks a table has the
// tag.

const SOURCES = globSync('{server,workflows,cli}/**/*.ts')

/** What begins such a statement, at the beginning of a literal or after another statement. */
const VERBS = [
  String.raw`(?:create|alter|drop)\s+(?:(?:or\s+replace|unlogged|unique|materialized|foreign|event|constraint)\s+)*(?:table|index|sequence|trigger|function|procedure|type|view|schema|policy|rule|domain|statistics|publication|extension)`,
  String.raw`comment\s+on|truncate\s|reindex\s|cluster\s+\w|vacuum\b|refresh\s+materialized|lock\s+table|analyze\s+\w|grant\s+\w+.* on\s|revoke\s+\w+.* on\s`,
].join('|')
const STATEMENT = new RegExp(String.raw`(?:[\`'"]|;)\s*(${VERBS})`, 'gi')

/** The statements of a text that change or lock a table and have no tag. A sentence begins with one capital letter. */
function untagged(text: string): string[] {
  const rest = text.replaceAll(/^\s*(?:\/\/|\*|\/\*).*$/gm, '').replaceAll(/\bddl`[^`]*`/g, 'ddl')
  return [...rest.matchAll(STATEMENT)].map(([, verb]) => verb!).filter((verb) => /^(?:[a-z]+|[A-Z]+)\b/.test(verb))
}

test('every statement that changes or locks a table has the tag `ddl`, so it gives up its locks', () => {
  const found = SOURCES.flatMap((file) => untagged(readFileSync(file, 'utf8')).map((verb) => `${file}: ${verb}`))
  expect(found).toEqual([])
})

test.each([
  "run(db, 'drop table messages')",
  'await run(tx, `alter table messages add column x int`)',
  'await run(tx, `lock_timeout = 0; alter table messages add column x int`)',
  'const INDEX = `\n  create unique index concurrently x on messages (id)`',
  "const LOCK = 'lock table messages in share mode'",
  'run(db, `VACUUM messages`)',
  "run(db, 'truncate messages')",
])('%s needs the tag', (text) => {
  expect(untagged(text)).toHaveLength(1)
  expect(untagged(text.replace(/[`'](.*)[`']/s, 'ddl`$1`'))).toEqual([])
})

/** What runs each file's DDL beside a reader that stays open: see ddl.waiting.test.ts. */
test('the DDL of every file runs beside an open reader in a test', () => {
  const files = SOURCES.filter((file) => /\bddl`/.test(readFileSync(file, 'utf8')))
  const tested = readFileSync('test/db/ddl.waiting.test.ts', 'utf8')
  expect(files.filter((file) => !tested.includes(`'${file}'`))).toEqual([])
})

/**
 * A build of an index keeps writers of its table waiting until it ends, however short its wait for the lock is.
 * Migrations of a release that does not stop build none on a table that has rows.
 */
const STOPS = '0014_release_0_3'
const BUILD = /^create (?:unique )?index (?:if not exists )?\S+ on (?!only )(\w+)/

test('a migration of a release that does not stop builds no index on a table of before', () => {
  const files = globSync('server/db/migrations/*.sql').toSorted()
  const newer = files.filter((file) => basename(file, '.sql') > STOPS)
  const builds = newer.flatMap((file) => {
    const plain = readFileSync(file, 'utf8').replaceAll(/--.*$/gm, '').replaceAll('"', '').toLowerCase()
    const created = [...plain.matchAll(/create (?:unlogged )?table (?:if not exists )?(\w+)/g)].map(([, name]) => name)
    return plain
      .split(';')
      .map((statement) => BUILD.exec(statement.trim().replaceAll(/\s+/g, ' '))?.[1])
      .filter((table) => table !== undefined && !created.includes(table))
  })
  expect(builds).toEqual([])
})
