import { globSync, readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { expect, test } from 'vitest'
import { CONTRACTIONS, PREVIOUS_RELEASE } from '../releases.ts'

// The rule of docs/upgrading.md: the previous release works on the database that this version has migrated. Its tables
// only grow. What is here cannot see a changed meaning: test/real/rolling-upgrade.test.ts runs both releases.

/** What breaks a process of the previous release, and the statement that does it. The table is the first group. */
const BREAKS: [what: string, statement: RegExp][] = [
  ['drops a table', /^(?:drop table|truncate)(?: table)?(?: if exists)? (\w+)/],
  ['drops a column', /^alter table (\w+) drop (?!constraint )/],
  ['renames', /^alter table (\w+) rename /],
  ['changes a type', /^alter table (\w+) alter (?:column )?\w+ (?:set data )?type /],
  ['requires a value', /^alter table (\w+) alter (?:column )?\w+ set not null/],
  ['drops a default', /^alter table (\w+) alter (?:column )?\w+ drop default/],
  [
    'adds a column without a default that requires a value',
    /^alter table (\w+) add (?:column )?(?!.* default ).* not null/,
  ],
  [
    'adds a rule that stored or new rows may break',
    /^alter table (\w+) add constraint \w+ (?:unique|foreign key|exclude)/,
  ],
  ['adds a rule that stored or new rows may break', /^create unique index (?:if not exists )?\w+ on (\w+)/],
]

/** The statements of a migration in lower case, without comments, quotes and repeated white space. */
function statementsOf(sql: string): string[] {
  const plain = sql.replaceAll(/--.*$/gm, '').replaceAll('"', '').replaceAll(/\s+/g, ' ').toLowerCase()
  return plain.split(';').map((statement) => statement.trim())
}

/** What a release would find broken. Tables that it does not have may change. */
function breaksIn(migrations: string[]): string[] {
  const statements = migrations.flatMap(statementsOf)
  const created = statements.map(
    (statement) => /^create (?:unlogged )?table (?:if not exists )?(\w+)/.exec(statement)?.[1],
  )
  return statements.flatMap((statement) =>
    BREAKS.filter(([, pattern]) => {
      const table = pattern.exec(statement)?.[1]
      return table !== undefined && !created.includes(table)
    }).map(([what]) => `${what}: ${statement}`),
  )
}

test('no migration since the previous release takes anything away that it uses', () => {
  const files = globSync('server/db/migrations/*.sql').toSorted()
  const released = files.filter((file) => basename(file, '.sql') <= PREVIOUS_RELEASE.lastMigration)
  expect(released.map((file) => basename(file, '.sql')).at(-1)).toBe(PREVIOUS_RELEASE.lastMigration)
  const newer = files.slice(released.length).map((file) => readFileSync(file, 'utf8'))
  expect(breaksIn(newer)).toEqual(CONTRACTIONS)
})

test.each([
  'DROP TABLE "old";',
  'ALTER TABLE "events" DROP COLUMN "detail";',
  'ALTER TABLE "events" RENAME COLUMN "detail" TO "text";',
  'ALTER TABLE "events" RENAME TO "outcomes";',
  'ALTER TABLE "events" ALTER COLUMN "line" SET DATA TYPE bigint;',
  'ALTER TABLE "events" ALTER COLUMN "tag" SET NOT NULL;',
  'ALTER TABLE "events" ALTER COLUMN "kind" DROP DEFAULT;',
  'ALTER TABLE "events" ADD COLUMN "region" text NOT NULL;',
  'ALTER TABLE "events" ADD CONSTRAINT "one" UNIQUE("tag");',
  'CREATE UNIQUE INDEX "one" ON "events" USING btree ("tag");',
])('the previous release cannot work after %s', (statement) => {
  expect(breaksIn([statement])).toHaveLength(1)
})

test.each([
  'ALTER TABLE "events" ADD COLUMN "region" text;',
  `ALTER TABLE "events" ADD COLUMN "region" text DEFAULT 'eu' NOT NULL;`,
  'CREATE INDEX "region" ON "events" USING btree ("tag");',
  'ALTER TABLE "feedback" DROP CONSTRAINT "feedback_kind";',
  'CREATE TABLE "erasures" ("id" uuid NOT NULL); --> statement-breakpoint\nALTER TABLE "erasures" DROP COLUMN "id";',
])('the previous release works after %s', (statement) => {
  expect(breaksIn([statement])).toEqual([])
})
