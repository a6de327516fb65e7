import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { createKeyGate } from '../../server/access/key-gate.ts'
import { DEFAULT_LIMITS } from '../../server/config/limits.ts'
import { createDatabaseClock } from '../../server/db/clock.ts'
import { eq } from '../../server/db/drizzle.ts'
import { createSealer } from '../../server/db/encryption.ts'
import { newId, publicId } from '../../server/db/ids.ts'
import type { RecordCheck } from '../../server/db/json-columns.ts'
import { dkimKeys, domains } from '../../server/db/schema.ts'
import { createSenderDomains } from '../../server/domains/sender.ts'
import { HOSTILE } from '../harness/hostile.ts'
import { testDatabase } from '../harness/postgres.ts'
import { temporaryFolder } from '../harness/until-end.ts'

// The command as a process: its output and exit codes. What each command does is in run.thorough.test.ts.

const BIN = fileURLToPath(new URL('../../cli/bin.mjs', import.meta.url))
const secret = randomBytes(32)

const database = await testDatabase()
const folder = temporaryFolder()

/** Runs a command in an empty folder; by default with the test's database. */
async function verdict(args: string[], env: Record<string, string> = {}) {
  const variables = { DATABASE_URL: database.url, ENCRYPTION_KEYS: `k1:${secret.toString('base64')}`, ...env }
  const child = spawn(process.execPath, [BIN, ...args], {
    cwd: folder,
    env: variables,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [[code], stdout, stderr] = await Promise.all([once(child, 'close'), text(child.stdout), text(child.stderr)])
  return { code, stdout, stderr, json: args.includes('--json') && stdout ? JSON.parse(stdout) : undefined }
}

test('an account, a key and a domain are created and usable; the key is then revoked', async () => {
  const account = await verdict(['accounts', 'create', 'Web shop', '--json'])
  expect(account).toMatchObject({ code: 0, stderr: '', json: { name: 'Web shop' } })
  const { key, key_id } = (await verdict(['keys', 'create', 'shop', '--json'])).json
  const clock = await createDatabaseClock(database.db)
  const call = { method: undefined, authorization: `Bearer ${key}`, remoteAddress: '192.0.2.1', tellRate() {} }
  const gate = () => createKeyGate({ db: database.db, clock, limits: DEFAULT_LIMITS })
  const { accountId } = (await gate()(call))!
  expect(publicId('acc', accountId)).toBe(account.json.account_id)

  await verdict(['domains', 'add', 'shop.example', '--verified'])
  const senders = createSenderDomains({ db: database.db, sealer: createSealer([{ id: 'k1', key: secret }]) })
  expect(await senders.find(accountId, 'shop.example')).toMatchObject({ status: 'verified' })

  expect(await verdict(['keys', 'revoke', key_id])).toMatchObject({
    code: 0,
    stdout: `Revoked key ${key_id} "shop".\n`,
  })
  await expect(gate()(call)).rejects.toThrow('This API key does not exist')
  clock.stop()
})

test('a rotation of the encryption key that is killed halfway is finished by the next one', async () => {
  const fresh = randomBytes(32)
  const ENCRYPTION_KEYS = `k2:${fresh.toString('base64')},k1:${secret.toString('base64')}`
  await verdict(['accounts', 'create', 'Sealed'])
  await verdict(['domains', 'add', 'sealed.example', '--account', 'Sealed'])
  await sealMany(2_000)
  const args = ['secrets', 'rotate', '--json']
  const child = spawn(process.execPath, [BIN, ...args], {
    cwd: folder,
    env: { DATABASE_URL: database.url, ENCRYPTION_KEYS },
  })
  const [progress] = await once(child.stderr, 'data')
  child.kill('SIGKILL')
  expect(String(progress)).toMatch(/^\d+ of 2\d{3}\n/)
  await once(child, 'close')
  const report = (await verdict(['doctor'], { ENCRYPTION_KEYS })).stdout
  expect(report).toMatch(/ok +secrets +[1-9]\d* of \d+ are sealed with an older key than k2:\s+verdict/)

  const { code, json, stderr } = await verdict(args, { ENCRYPTION_KEYS })
  expect({ code, json }).toMatchObject({ code: 0, json: { key: 'k2', older: 0, faults: [] } })
  expect(json.resealed).toBeLessThan(json.total)
  expect(stderr).toContain(`${json.resealed} of ${json.resealed}\n`)
  const alone = await verdict(['doctor'], { ENCRYPTION_KEYS: `k2:${fresh.toString('base64')}` })
  expect(alone.stdout).toMatch(/ok +secrets +all \d+ are sealed with the key k2/)
})

/** Stores `count` copies of one key, each sealed for its own row. */
async function sealMany(count: number): Promise<void> {
  const sealer = createSealer([{ id: 'k1', key: secret }])
  const [key] = await database.db.select().from(dkimKeys)
  const der = sealer.open(key!.privateKey, { table: 'dkim_keys', column: 'private_key', id: key!.id })
  const rows = Array.from({ length: count }, (_, i) => {
    const id = newId(Date.now())
    const privateKey = sealer.seal(der, { table: 'dkim_keys', column: 'private_key', id })
    return { ...key!, id, selector: `s${i}`, privateKey, state: 'retired' as const }
  })
  await database.db.insert(dkimKeys).values(rows)
}

test('an account gets a tier; the message about an unknown tier lists the tiers that exist', async () => {
  const name = 'Tiered shop'
  await verdict(['accounts', 'create', name])
  const tiers = join(folder, 'tiers.json')
  writeFileSync(tiers, '{"tiers": {"gold": {"requests_per_minute": 12000}}}')
  const set = (tier: string, env = {}) => verdict(['accounts', 'tier', tier, '--account', name, '--json'], env)
  const shown = async (env = {}) =>
    (await verdict(['accounts', 'list'], env)).stdout.split('\n').find((line) => line.includes(name))

  expect(await shown()).toContain('default (unlimited), 1000000/min')
  expect(await set('free')).toMatchObject({ code: 0, json: { tier: 'free' } })
  expect(await shown()).toContain('free, 60/min')
  expect(await set('gold')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('There is no tier gold. The tiers are free, pro, scale, unlimited, default'),
  })
  expect(await set('gold', { TIERS_FILE: tiers })).toMatchObject({ code: 0, json: { tier: 'gold' } })
  expect(await shown({ TIERS_FILE: tiers })).toContain('gold, 12000/min')
  expect(await shown()).toContain('gold (unknown, so unlimited), 1000000/min')
  expect(await set('default', { DEFAULT_TIER: 'pro' })).toMatchObject({ code: 0, json: { tier: null } })
  expect(await set('free', { DEFAULT_TIER: 'gold' })).toMatchObject({
    stderr: expect.stringContaining('DEFAULT_TIER must be one of free, pro, scale, unlimited'),
  })
})

test('a usage error ends with 2', async () => {
  const { code, stdout, stderr } = await verdict(['keys'])
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toMatch(/^Usage: verdict keys .*revoke \[options\] <key_id>/s)
})

test('an id that does not exist ends with 3; with --json errors are JSON too', async () => {
  await verdict(['accounts', 'create', 'Empty'])
  const id = publicId('key', newId(Date.now()))
  const { code, stdout, stderr } = await verdict(['keys', 'revoke', id, '--account', 'Empty', '--json'])
  expect({ code, stdout }).toEqual({ code: 3, stdout: '' })
  expect(JSON.parse(stderr)).toEqual({
    error: 'not_found',
    message: `The account has no key ${id}. See: verdict keys list`,
  })
})

test('a database that cannot be reached ends with 69, and its password is not printed', async () => {
  const DATABASE_URL = 'postgres://u:hunter2@127.0.0.1:1/verdict'
  expect(await verdict(['accounts', 'list'], { DATABASE_URL })).toMatchObject({
    code: 69,
    stdout: '',
    stderr:
      'The database cannot be used: connect ECONNREFUSED 127.0.0.1:1.\n' +
      'Check that PostgreSQL runs, and the host and port in DATABASE_URL.\n',
  })
})

test('the default database is that of npm start, and the message says so when it is down', async () => {
  writeFileSync(join(folder, 'database.json'), '{"url":"postgres://u:hunter2@127.0.0.1:1/verdict"}')
  const { code, stderr } = await verdict(['accounts', 'list'], { DATABASE_URL: '', DATA_DIR: folder })
  rmSync(join(folder, 'database.json'))
  expect({ code, stderr }).toEqual({
    code: 69,
    stderr:
      'The database cannot be used: connect ECONNREFUSED 127.0.0.1:1.\nnpm start runs it here. Is npm start running?\n',
  })
})

test('a missing variable ends with 78', async () => {
  expect(await verdict(['accounts', 'list'], { DATABASE_URL: '' })).toMatchObject({
    code: 78,
    stdout: '',
    stderr: expect.stringContaining('DATABASE_URL must be set. Example: DATABASE_URL=postgres://'),
  })
})

test('records that a domain owner publishes cannot control the terminal of the operator', async () => {
  await verdict(['accounts', 'create', 'Hostile'])
  await verdict(['domains', 'add', 'hostile.example', '--account', 'Hostile'])
  const check: RecordCheck = {
    status: 'failed',
    observed: [],
    error: 'It is \x1b]0;x\x07\x9b31m\u202e.',
    checked_at: '2026-01-01T00:00:00Z',
  }
  const checks = { SPF: check, DMARC: check }
  await database.db.update(domains).set({ checks }).where(eq(domains.name, 'hostile.example'))
  const args = ['domains', 'show', 'hostile.example', '--account', 'Hostile']
  const [shown, asJson] = [await verdict(args), await verdict([...args, '--json'])]
  expect([shown.code, asJson.code]).toEqual([0, 0])
  expect(shown.stdout).toContain('It is')
  expect((shown.stdout + asJson.stdout).replaceAll('\n', '')).not.toMatch(HOSTILE)
  const { records } = asJson.json as { records: { record: string; error?: string }[] }
  expect(records.find(({ record }) => record === 'DMARC')!.error).toBe(check.error)
})
