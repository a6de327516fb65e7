import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { startApiProcess, startProgram } from '../harness/process.ts'
import { startInstance } from './instance.ts'

const instance = await startInstance({ SMTP_SOURCE_ADDRESSES: '127.0.0.1,::1', LOG_LEVEL: 'info' })

test('the API refuses to start with a source address that the machine does not have, and names variable and address', async () => {
  const env = { ...instance.environment, SMTP_SOURCE_ADDRESSES: '127.0.0.1,192.0.2.25' }
  const running = startProgram(process.execPath, ['server/main.ts'], env)
  expect(await running.ended).toBe(78)
  expect(running.stderr()).toMatch(/SMTP_SOURCE_ADDRESSES names 192\.0\.2\.25, which this machine does not have/)
})

test('the API starts without a warning when the machine has all source addresses and no encryption key is missing', async () => {
  expect(instance.api.stdout()).not.toContain('ENCRYPTION_KEYS')
})

test('the API refuses to start without a key that sealed values, and names the key and the way out', async () => {
  const ENCRYPTION_KEYS = `k2:${randomBytes(32).toString('base64')}`
  const env = { ...instance.environment, ENCRYPTION_KEYS }
  const running = startProgram(process.execPath, ['server/main.ts'], env)
  expect(await running.ended).toBe(78)
  expect(running.stderr()).toMatch(/ENCRYPTION_KEYS does not open what the key "k1" has sealed .*Add that key again/)

  const api = await startApiProcess({ ...env, LOST_ENCRYPTION_KEYS: 'k1' })
  expect(api.stdout()).toContain('sealed values cannot be opened: what needs them fails')
  await api.kill('SIGKILL')
})
