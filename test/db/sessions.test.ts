import { globSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

// A pooler gives each transaction another session, and a fail-over ends all of them: docs/adr/0109-poolers.md.

/** What a statement would leave in its session, as SQL in our sources has it. */
const LEAVES: [what: string, pattern: RegExp][] = [
  ['an advisory lock', /pg_(?:try_)?advisory_(?:lock|unlock)/],
  ['a setting', /set_config\([^()]*,\s*false\)|[`'"]\s*set (?:session )?[a-z_.]+ (?:=|to) /],
  ['a subscription', /[`'"]\s*listen \w|\.listen\(\s*['"`]|\.subscribe\(/i],
  ['a cursor', /\bwith hold\b/i],
  ['a temporary table', /create temp(?:orary)? table (?!\w+ on commit drop)/i],
  ['a prepared statement or transaction', /[`'"]\s*prepare \w/i],
]

const leftBy = (source: string) => LEAVES.filter(([, pattern]) => pattern.test(source)).map(([what]) => what)

test('no statement leaves anything in its session', () => {
  const sources = globSync('{server,workflows,cli}/**/*.ts')
  expect(sources.length).toBeGreaterThan(300)
  const found = sources.flatMap((file) => leftBy(readFileSync(file, 'utf8')).map((what) => `${file}: ${what}`))
  expect(found).toEqual([])
})

test.each([
  ['an advisory lock', 'select pg_advisory_lock(1)'],
  ['an advisory lock', 'select pg_try_advisory_lock(1)'],
  ['a setting', `select set_config('jit', 'off', false)`],
  ['a setting', '`set statement_timeout = 0`'],
  ['a subscription', "'listen events'"],
  ['a cursor', 'declare c cursor with hold for select 1'],
  ['a temporary table', 'create temporary table t (id int)'],
  ['a prepared statement or transaction', "'prepare transaction 1'"],
])('it would find %s', (what, source) => expect(leftBy(source)).toEqual([what]))

test('what ends with its transaction is allowed', () => {
  const statements = [
    'select pg_advisory_xact_lock(1)',
    'select pg_try_advisory_xact_lock(1)',
    `select set_config('jit', 'off', true)`,
    'create temporary table verdict_room on commit drop as select 1',
  ]
  expect(statements.flatMap(leftBy)).toEqual([])
})
