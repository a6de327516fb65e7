import { Connection, ScheduleClient } from '@temporalio/client'
import { afterAll, expect, test } from 'vitest'
import { openAccount } from '../../harness/account.ts'
import { testDatabase } from '../../harness/postgres.ts'
import { type RunningProcess, startApiProcess, startProgram, waitForOutput } from '../../harness/process.ts'
import { startTemporal } from '../../harness/temporal.ts'
import { untilEnd } from '../../harness/until-end.ts'
import { diagnose, ENCRYPTION_KEYS } from './patients.ts'

let worker: RunningProcess | undefined
const database = await testDatabase()
await openAccount(database.db, ENCRYPTION_KEYS, 'one.test')
const temporal = untilEnd(await startTemporal())
const env: Record<string, string> = { DATABASE_URL: database.url, ENCRYPTION_KEYS, TEMPORAL_ADDRESS: temporal.address }
const api = await startApiProcess(env)
afterAll(async () => {
  await worker?.kill()
  await api.kill('SIGKILL')
})

async function readiness() {
  const response = await fetch(`${api.url}/readyz`)
  const { checks } = (await response.json()) as { checks: Record<string, string> }
  return { status: response.status, temporal: checks.temporal, worker: checks.worker }
}

test('a Temporal that is away fails, and the checks that need it are skipped', async () => {
  const away = { ...env, TEMPORAL_ADDRESS: '127.0.0.1:9' }
  expect(await diagnose('temporal', away)).toMatchObject({
    state: 'failed',
    seen: expect.stringMatching(/^127\.0\.0\.1:9 does not respond: .*ECONNREFUSED/),
  })
  expect(await diagnose('worker', away)).toEqual({ state: 'skipped', seen: 'Temporal cannot be used' })
})

test('a namespace that is missing fails with the command that creates it', async () => {
  expect(await diagnose('temporal', { ...env, TEMPORAL_NAMESPACE: 'nowhere' })).toMatchObject({
    state: 'failed',
    seen: expect.stringContaining('has no namespace nowhere'),
    wayOut: expect.stringContaining('temporal operator namespace create'),
  })
})

test('without a worker the check of workers and Schedules fails, and the API stays ready and says so', async () => {
  expect(await diagnose('temporal', env)).toMatchObject({ state: 'ok' })
  expect(await diagnose('worker', env)).toMatchObject({ state: 'failed', wayOut: 'Run one: npm run worker' })
  expect(await diagnose('schedules', env)).toMatchObject({
    state: 'failed',
    seen: expect.stringContaining('retention is missing'),
  })
  const connection = await Connection.connect({ address: temporal.address })
  const removed = { namespace: 'default', searchAttributes: ['AttemptNumber'] }
  await connection.operatorService.removeSearchAttributes(removed)
  await connection.close()
  expect(await diagnose('search_attributes', env)).toMatchObject({
    state: 'warning',
    seen: expect.stringContaining('AttemptNumber'),
    wayOut: expect.stringContaining('temporal operator search-attribute create --namespace default'),
  })
  await expect.poll(readiness).toEqual({ status: 200, temporal: 'ok', worker: 'none' })
})

test('with a worker all is well; a paused Schedule is a warning', async () => {
  worker = startProgram(process.execPath, ['workflows/worker.ts'], env)
  await waitForOutput(worker, /"ready"/)
  await expect.poll(() => diagnose('worker', env)).toMatchObject({ state: 'ok' })
  await expect.poll(() => diagnose('schedules', env)).toMatchObject({ state: 'ok' })
  await expect.poll(() => diagnose('search_attributes', env)).toMatchObject({ state: 'ok' })
  await expect.poll(readiness).toEqual({ status: 200, temporal: 'ok', worker: 'polling' })

  const connection = await Connection.connect({ address: temporal.address })
  const schedules = new ScheduleClient({ connection })
  await schedules.getHandle('retention').pause()
  await connection.close()
  expect(await diagnose('schedules', env)).toMatchObject({
    state: 'warning',
    seen: 'retention is paused: history is not dropped',
  })
})
