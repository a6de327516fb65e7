import { randomBytes } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { runCli as verdict } from '../../cli/run.ts'
import { newId } from '../../server/db/ids.ts'
import { people } from '../../server/db/people-schema.ts'
import { messages, recipients, suppressions, webhookEndpoints } from '../../server/db/schema.ts'
import { run } from '../../server/db/statement.ts'
import { testAccount } from '../harness/account.ts'
import { temporaryFolder } from '../harness/until-end.ts'

// The commands `verdict erase` and `verdict export`.

const folder = temporaryFolder()
const ENCRYPTION_KEYS = `k1:${randomBytes(32).toString('base64')}`
const account = await testAccount()
beforeEach(() => {
  const values = { DATABASE_URL: account.url, ENCRYPTION_KEYS, VERDICT_URL: '' }
  for (const [name, value] of Object.entries(values)) vi.stubEnv(name, value)
})
afterEach(() => void vi.unstubAllEnvs())

async function storeMessage(email: string) {
  const { db, accountId } = account
  const id = newId(Date.now())
  const request = { from: 'a@example.test', to: [email], subject: 'For you', headers: [], attachments: [] }
  const at = new Date()
  const common = { accountId, status: 'delivered' as const }
  await db.insert(messages).values({
    ...{ ...common, id, sandbox: false, region: 'eu', sizeBytes: 1, createdAt: at, completedAt: at, request },
  })
  const recipient = { ...common, messageId: id, position: 0, eventId: newId(Date.now()), email }
  await db.insert(recipients).values({ ...recipient, retryable: false, inDoubt: false })
  return id
}

test('without a terminal an erasure needs --yes, and a dry run changes nothing', async () => {
  await storeMessage('Ann@example.net')
  await expect(verdict(['erase', 'ann@example.net'])).rejects.toThrow('Confirm it with --yes')
  const { json, text } = await verdict(['erase', 'ann@example.net', '--dry-run'])
  expect(json).toMatchObject({ dry_run: true, rows: 2, accounts: [{ tables: { messages: 1, recipients: 1 } }] })
  expect(text).toContain('2 rows of one account mention the address')
  expect(await account.db.$count(recipients)).toBe(1)
  const [row] = await account.db.select().from(recipients)
  expect(row!.email).toBe('Ann@example.net')
  await expect(verdict(['erase', 'no address'])).rejects.toThrow('is not an address')
})

test('an export has every row that mentions the address, in a file that only the operator can read', async () => {
  const id = await storeMessage('bob@example.net')
  const { db, accountId } = account
  const entry = { accountId, tenantId: '', email: 'bob@example.net', reason: 'manual' as const }
  await db.insert(suppressions).values({ id: newId(Date.now()), ...entry })
  const endpoint = { url: 'https://hooks.example.com/bob@example.net', secret: Buffer.from('sealed') }
  await db.insert(webhookEndpoints).values({ id: accountId, accountId, ...endpoint })
  const file = join(folder, 'bob.json')
  await verdict(['export', 'Bob@example.net', '--output', file])
  expect(statSync(file).mode & 0o777).toBe(0o600)
  const { tables, ...head } = JSON.parse(readFileSync(file, 'utf8'))
  expect(head).toEqual({ address: 'bob@example.net', exported_at: expect.stringMatching(/^\d{4}-.*Z$/) })
  expect(Object.keys(tables)).toEqual(['messages', 'recipients', 'suppressions', 'webhook_endpoints'])
  expect(tables.messages).toMatchObject([{ id, request: { to: ['bob@example.net'], subject: 'For you' } }])
  expect(tables.suppressions).toMatchObject([{ email: 'bob@example.net', reason: 'manual' }])
  expect(tables.webhook_endpoints).toMatchObject([{ account_id: accountId, url: endpoint.url }])
  expect(tables.webhook_endpoints[0]).not.toHaveProperty('secret')
  await expect(verdict(['export', 'bob@example.net', '--output', file])).rejects.toThrow('cannot be written')
  const nothing = join(folder, 'nothing.json')
  await verdict(['export', 'unknown@example.net', '--output', nothing])
  expect(JSON.parse(readFileSync(nothing, 'utf8')).tables).toEqual({})
})

test('an erasure names a person of the dashboard, whom it leaves', async () => {
  const email = 'owner@example.net'
  await account.db.insert(people).values({ id: newId(Date.now()), name: 'Owner', email })
  const { json, text } = await verdict(['erase', email, '--yes'])
  expect(json).toMatchObject({ rows: 0, is_person: true, erased: expect.stringMatching(/^erased-/) })
  expect(text).toContain(`verdict people remove ${email}`)
  expect(await account.db.$count(people)).toBe(1)
})

test('new encryption keys keep the form of an address, and the old ones can go', async () => {
  const erasedForm = async () =>
    ((await verdict(['erase', 'eve@example.net', '--yes'])).json as { erased: string }).erased
  const before = await erasedForm()
  const newer = `k2:${randomBytes(32).toString('base64')}`
  vi.stubEnv('ENCRYPTION_KEYS', `${newer},${ENCRYPTION_KEYS}`)
  await verdict(['secrets', 'rotate'])
  vi.stubEnv('ENCRYPTION_KEYS', newer)
  expect(await erasedForm()).toBe(before)
})

test('history lets an erasure change what names a person, and nothing else', async () => {
  const id = await storeMessage('cy@example.net')
  const update = (set: string, erasing: boolean) =>
    account.db.$client.begin(async (tx) => {
      if (erasing) await run(tx, `select set_config('verdict.erasing', 'on', true)`)
      await run(tx, `update recipients set ${set} where message_id = $1`, [id])
    })
  await expect(update(`email = 'x'`, false)).rejects.toThrow('history never changes')
  await expect(update(`email = 'x', status = 'bounced'`, true)).rejects.toThrow('history never changes')
  await update(`email = 'x'`, true)
})
