import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startApiProcess, startProgram } from '../harness/process.ts'
import { type Instance, startInstance } from './instance.ts'

let instance: Instance
beforeAll(async () => {
  instance = await startInstance({ SMTP_SOURCE_ADDRESSES: '127.0.0.1,::1', LOG_LEVEL: 'info' })
})
afterAll(() => instance.stop())

test('a source address that the machine does not have is refused at the start, by variable and address', async () => {
  const env = { ...instance.environment, SMTP_SOURCE_ADDRESSES: '127.0.0.1,192.0.2.25' }
  const running = startProgram(process.execPath, ['server/main.ts'], env)
  expect(await running.ended).toBe(78)
  expect(running.stderr()).toMatch(/SMTP_SOURCE_ADDRESSES names 192\.0\.2\.25, which this machine does not have/)
})

test('addresses that the machine has are taken, and every key that sealed something is there', async () => {
  expect(instance.api.stdout()).not.toContain('ENCRYPTION_KEYS')
})

test('a lost encryption key is told at the start, by its id', async () => {
  const env = { ...instance.environment, ENCRYPTION_KEYS: `k2:${randomBytes(32).toString('base64')}` }
  const api = await startApiProcess(env)
  expect(api.stdout()).toContain('ENCRYPTION_KEYS does not open what the key k1 sealed: add that key again')
  await api.kill('SIGKILL')
})
