import { randomBytes } from 'node:crypto'
import postgres from 'postgres'
import { afterAll, expect, inject, test } from 'vitest'
import { applyMigrations } from '../../server/db/migrations.ts'
import { diagnose } from '../cli/doctor/patients.ts'
import { databaseAt } from '../harness/template.ts'

const admin = postgres(inject('postgresUrl'), { max: 1, onnotice: () => {} })
const created: string[] = []
afterAll(async () => {
  for (const name of created) await admin.unsafe(`drop database ${name} with (force)`)
  await admin.end()
})

async function createDatabase(how: string): Promise<string> {
  const name = `encoding_${randomBytes(6).toString('hex')}`
  await admin.unsafe(`create database ${name} template template0 ${how}`)
  created.push(name)
  return databaseAt(inject('postgresUrl'), name)
}

test.each([
  [
    'lacks letters',
    `encoding 'LATIN1' locale_provider libc locale 'C'`,
    'the encoding of the database is LATIN1: messages hold letters that it lacks',
  ],
  [
    'knows no letters',
    `encoding 'SQL_ASCII' locale_provider libc locale 'C'`,
    'the encoding of the database is SQL_ASCII: messages hold letters that it lacks',
  ],
  [
    'follows Turkish',
    `encoding 'UTF8' locale_provider icu icu_locale 'tr' locale 'C'`,
    'the locale of the database turns I into another letter than i: addresses get lost',
  ],
])(
  'a database whose text %s gets no tables, and both the migration and the doctor say why',
  async (_what, how, fault) => {
    const url = await createDatabase(how)
    await expect(applyMigrations(url)).rejects.toThrow(
      `${fault}. Drop it, and create it with: createdb --owner=verdict --template=template0 --encoding=UTF8 --locale=C.UTF-8 verdict`,
    )
    expect(await diagnose('migrations', { DATABASE_URL: url })).toMatchObject({
      seen: 'The database has no tables of Verdict',
    })
    expect(await diagnose('encoding', { DATABASE_URL: url })).toEqual({
      state: 'failed',
      seen: fault,
      wayOut: expect.stringMatching(/^Restore a dump of it into one made by: createdb /),
    })
  },
)

test('a database made as the guides say is well', async () => {
  const url = await createDatabase(`encoding 'UTF8' locale_provider libc locale 'C.UTF-8'`)
  await applyMigrations(url)
  expect(await diagnose('encoding', { DATABASE_URL: url })).toEqual({ state: 'ok', seen: 'UTF8' })
})
