import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { rm, utimes, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import postgres from 'postgres'
import { afterAll, expect, onTestFinished, test } from 'vitest'
import { stringify, parse as yaml } from 'yaml'
import { readCluster } from '../../server/db/cluster.ts'
import { connect } from '../../server/db/connect.ts'
import { applyMigrations } from '../../server/db/migrations.ts'
import { watchCluster } from '../../server/telemetry/installation.ts'
import { createMetrics } from '../../server/telemetry/metrics.ts'
import { serveMetrics } from '../../server/telemetry/serve.ts'
import { diagnose } from '../cli/doctor/patients.ts'
import { temporaryFolder } from '../harness/until-end.ts'
import { parseScrape } from '../telemetry/scrape.ts'
import { AS_POSTGRES, initialize, programOf, startDebianPostgres } from './debian-postgres.ts'
import { promtool } from './promtool.ts'

// The alerts about the PostgreSQL server against its real faults: what the API shows of them goes through promtool.

/** The next transaction of the server, which leaves the rows of `initdb` this much older. */
const NEXT_TRANSACTION = 1_200_000_000
const TRANSACTIONS_PER_FILE = 2 ** 20
/** PostgreSQL begins to freeze such rows at its start. */
const SLOW_VACUUM = { autovacuum_vacuum_cost_delay: '100ms', autovacuum_vacuum_cost_limit: '1' }

const RULES_FILE = resolve('deploy/prometheus/rules.yaml')
const folder = temporaryFolder()
const backupFile = join(folder, 'done')
const server = await startDebianPostgres(async (data) => {
  await initialize(data)
  const run = (command: string, ...args: string[]) =>
    execFileSync(AS_POSTGRES[0]!, [...AS_POSTGRES.slice(1), command, ...args])
  const file = Math.floor(NEXT_TRANSACTION / TRANSACTIONS_PER_FILE)
    .toString(16)
    .toUpperCase()
    .padStart(4, '0')
  run('dd', 'if=/dev/zero', `of=${data}/pg_xact/${file}`, 'bs=8192', 'count=32', 'status=none')
  run(programOf('pg_resetwal'), '-x', String(NEXT_TRANSACTION), data)
  const settings = Object.entries({ max_slot_wal_keep_size: '16MB', autovacuum_naptime: '1s', ...SLOW_VACUUM })
  writeFileSync(`${data}/postgresql.auto.conf`, settings.map(([name, value]) => `${name} = '${value}'\n`).join(''))
})
await applyMigrations(server.url)
const db = connect(server.url)
afterAll(() => db.$client.end({ timeout: 5 }))
const env = { DATABASE_URL: server.url, BACKUP_FILE: backupFile }

/** Whether the alert fires when what the API shows now stays so. */
async function firing(alert: string): Promise<boolean> {
  const metrics = createMetrics('api')
  watchCluster(metrics, db, backupFile)
  const served = await serveMetrics(metrics, { version: '0', service: 'verdict-api' }, { host: '127.0.0.1', port: 0 })
  const text = await (await fetch(served.url)).text().finally(() => served.close())
  const input_series = parseScrape(text).series.map(({ name, labels, value }) => ({
    series: `${name}{${Object.entries(labels)
      .map(([label, text]) => `${label}="${text}"`)
      .join()}}`,
    values: `${value}+0x60`,
  }))
  const [rule] = yaml(readFileSync(RULES_FILE, 'utf8'))
    .groups.flatMap(({ rules }: { rules: { alert: string }[] }) => rules)
    .filter((each: { alert: string }) => each.alert === alert)
  const expected = [{ exp_labels: rule.labels, exp_annotations: rule.annotations }]
  const file = join(folder, 'test.yaml')
  const alert_rule_test = [{ alertname: alert, eval_time: '30m', exp_alerts: expected }]
  const tests = [{ interval: '1m', input_series, alert_rule_test }]
  writeFileSync(file, stringify({ rule_files: [RULES_FILE], evaluation_interval: '1m', tests }))
  try {
    promtool(['test', 'rules', file])
    return true
  } catch {
    return false
  }
}

test('rows that are 1,200 million transactions old fire VerdictFreezeLate, until vacuum has frozen them', async () => {
  expect(await firing('VerdictFreezeLate')).toBe(true)
  expect(await diagnose('freeze', env)).toMatchObject({ state: 'warning' })
  for (const name of Object.keys(SLOW_VACUUM)) await db.$client.unsafe(`alter system reset ${name}`)
  await db.$client.unsafe('select pg_reload_conf()')
  await expect.poll(async () => (await readCluster(db)).freezeAge, { timeout: 60_000 }).toBeLessThan(1e9)
  expect(await firing('VerdictFreezeLate')).toBe(false)
  expect(await diagnose('freeze', env)).toMatchObject({ state: 'ok' })
})

test('a receiver that was away while 48 MB of WAL were written fires VerdictSlotLost', async () => {
  expect(await firing('VerdictSlotLost')).toBe(false)
  await db.$client.unsafe(`select pg_create_physical_replication_slot('away', true)`)
  for (let file = 0; file < 3; file++)
    await db.$client.unsafe('create table filler as select 1; drop table filler; select pg_switch_wal()')
  await db.$client.unsafe('checkpoint')
  expect(await firing('VerdictSlotLost')).toBe(true)
  expect(await diagnose('replication_slots', env)).toMatchObject({
    state: 'failed',
    wayOut: expect.stringContaining("select pg_drop_replication_slot('away');"),
  })
  await db.$client.unsafe(`select pg_drop_replication_slot('away')`)
  expect(await firing('VerdictSlotLost')).toBe(false)
})

test('programs that keep 80 % of the sessions open fire VerdictSessionsRunOut', async () => {
  expect(await firing('VerdictSessionsRunOut')).toBe(false)
  const { sessionLimit } = await readCluster(db)
  const others = postgres(server.url, { max: Math.ceil(0.8 * sessionLimit) })
  onTestFinished(() => others.end({ timeout: 5 }))
  await Promise.all(Array.from({ length: Math.ceil(0.8 * sessionLimit) }, () => others`select pg_sleep(0.5)`))
  expect(await firing('VerdictSessionsRunOut')).toBe(true)
  expect(await diagnose('sessions', env)).toMatchObject({ state: 'warning' })
})

test('a back-up that is 27 hours old fires VerdictBackupOld, and a new one does not', async () => {
  await writeFile(backupFile, '')
  onTestFinished(() => rm(backupFile))
  expect(await firing('VerdictBackupOld')).toBe(false)
  const then = Date.now() / 1_000 - 27 * 3_600
  await utimes(backupFile, then, then)
  expect(await firing('VerdictBackupOld')).toBe(true)
})
