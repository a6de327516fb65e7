import { randomBytes } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { runCli as verdict } from '../../cli/run.ts'
import { archiveDay } from '../../server/archive/archive-day.ts'
import { fileOfTable, manifestOf } from '../../server/archive/days.ts'
import { withArchive } from '../../server/archive/open.ts'
import { newId, publicId } from '../../server/db/ids.ts'
import { messages, recipients } from '../../server/db/schema.ts'
import { testAccount } from '../harness/account.ts'
import { temporaryFolder } from '../harness/until-end.ts'

// `verdict archive`, and what `verdict erase` and `verdict export` do with an archive.

const ENCRYPTION_KEYS = `k1:${randomBytes(32).toString('base64')}`
const today = new Date().toISOString().slice(0, 10)
let folder: string
const account = await testAccount()
for (const email of ['ann@example.net', 'bob@example.net']) await storeMessage(email)
beforeEach(async () => {
  folder = temporaryFolder()
  const values = { DATABASE_URL: account.url, ENCRYPTION_KEYS, VERDICT_URL: '', HISTORY_ARCHIVE: folder }
  for (const [name, value] of Object.entries(values)) vi.stubEnv(name, value)
  await withArchive({ folder }, (parts) => archiveDay({ db: account.db, ...parts }, today))
})
afterEach(() => {
  vi.unstubAllEnvs()
  rmSync(folder, { recursive: true })
})

async function storeMessage(email: string): Promise<void> {
  const { db, accountId } = account
  const id = newId(Date.now())
  const at = new Date()
  const common = { accountId, status: 'delivered' as const }
  const request = { from: 'a@example.test', to: [email], subject: 'For you', headers: [], attachments: [] }
  const sent = { id, sandbox: false, region: 'eu', sizeBytes: 1, createdAt: at, completedAt: at, request }
  await db.insert(messages).values({ ...common, ...sent })
  const recipient = { messageId: id, position: 0, eventId: newId(Date.now()), email }
  await db.insert(recipients).values({ ...common, ...recipient, retryable: false, inDoubt: false })
}

test('list shows each day, and verify reads all of its files', async () => {
  const { json, text } = await verdict(['archive', 'list'])
  expect(json).toMatchObject({ archive: folder, days: [{ day: today, tables: { messages: { rows: 2 } } }] })
  expect(text).toMatch(new RegExp(`^DAY .*\n${today} +2 +0\\.0 `))
  expect(await verdict(['archive', 'verify'])).toMatchObject({
    json: { days: 1, faults: [] },
    text: 'All files of 1 day are as they were written.',
  })
  await expect(verdict(['archive', 'verify', '2020-01-01'])).rejects.toThrow(`${folder} has no day 2020-01-01`)
  writeFileSync(join(folder, fileOfTable(today, 'events')), 'changed')
  expect(await verdict(['archive', 'verify', today])).toMatchObject({
    exit: 'failed',
    text: `${today}: day=${today}/events.parquet is not the file that was written`,
  })
  for (const text of ['{', '{}']) {
    writeFileSync(join(folder, manifestOf(today)), text)
    const fault = `${manifestOf(today)} is damaged. Restore the folder`
    await expect(verdict(['archive', 'list'])).rejects.toThrow(fault)
    // The other days are still read.
    expect((await verdict(['archive', 'verify'])).json).toMatchObject({
      faults: [{ fault: expect.stringContaining(fault) }],
    })
  }
  vi.stubEnv('HISTORY_ARCHIVE', mkdtempSync(join(folder, 'empty-')))
  expect((await verdict(['archive', 'verify'])).text).toMatch(/empty-\w+ has no day yet\.$/)
})

test('an archive that cannot be read is no fault of the database', async () => {
  const gone = join(folder, 'gone')
  vi.stubEnv('HISTORY_ARCHIVE', gone)
  const commands = [
    ['archive', 'list'],
    ['archive', 'verify'],
    ['archive', 'erase', 'bob@example.net', '--yes'],
    ['erase', 'bob@example.net', '--dry-run'],
    ['export', 'bob@example.net', '--output', join(folder, 'bob.json')],
  ]
  for (const command of commands)
    await expect(verdict(command)).rejects.toThrow(`The archive ${gone} cannot be used: ENOENT`)
})

test('without HISTORY_ARCHIVE, and with one that is no place, a command says what to set', async () => {
  vi.stubEnv('HISTORY_ARCHIVE', '')
  await expect(verdict(['archive', 'list'])).rejects.toThrow('HISTORY_ARCHIVE is not set. Example: s3://')
  vi.stubEnv('HISTORY_ARCHIVE', 'history')
  await expect(verdict(['archive', 'list'])).rejects.toThrow('HISTORY_ARCHIVE must be an absolute path of a folder')
})

test('an export has the rows of the archive behind those of the database', async () => {
  const file = join(folder, 'bob.json')
  await verdict(['export', 'bob@example.net', '--output', file])
  const { tables, archive } = JSON.parse(readFileSync(file, 'utf8'))
  expect(Object.keys(tables)).toEqual(['messages', 'recipients'])
  expect(archive).toMatchObject([
    {
      day: today,
      table: 'messages',
      row: { id: expect.stringMatching(/^msg_/), request: { to: ['bob@example.net'] } },
    },
    { day: today, table: 'recipients', row: { email: 'bob@example.net', status: 'delivered' } },
  ])
})

test('archive erase changes the archive alone, erase also the database; each says the same form', async () => {
  await expect(verdict(['archive', 'erase', 'bob@example.net'])).rejects.toThrow('Confirm it with --yes')
  const { json } = await verdict(['archive', 'erase', 'bob@example.net', '--yes'])
  expect(json).toEqual({ erased: expect.stringMatching(/^erased-/), rows: 2, days: { [today]: 2 } })
  expect(await verdict(['erase', 'bob@example.net', '--dry-run'])).toMatchObject({
    json: { rows: 2, archive: { rows: 0 } },
  })
  expect(await verdict(['erase', 'ann@example.net', '--dry-run'])).toMatchObject({
    json: { rows: 2, archive: { rows: 2, days: { [today]: 2 } } },
  })
  const { text, json: erased } = await verdict(['erase', 'ann@example.net', '--yes'])
  expect(erased).toMatchObject({ rows: 2, archive: { rows: 2 } })
  expect(text).toContain('In the archive 2 rows of 1 day changed.')
  expect(await verdict(['archive', 'verify'])).toMatchObject({ json: { faults: [] } })
})

test('an address of another account stays in the archive', async () => {
  await verdict(['accounts', 'create', 'Other'])
  const eraseOf = (name: string) => verdict(['archive', 'erase', 'bob@example.net', '--yes', '--account', name])
  expect((await eraseOf('Other')).json).toMatchObject({ rows: 0 })
  expect((await eraseOf(publicId('acc', account.accountId))).json).toMatchObject({ rows: 2 })
})
