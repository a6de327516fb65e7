import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { runCli } from '../../cli/run.ts'
import { DEFAULT_LIMITS } from '../../server/config/limits.ts'
import { startApi } from '../services/api.ts'

// The domains commands for users of the service: an API key, and no database.

const pools = { main: { addresses: ['192.0.2.77'], warmsUp: false } }
const api = await startApi(undefined, { ...DEFAULT_LIMITS, pools })
beforeEach(() => {
  vi.stubEnv('VERDICT_URL', api.url)
  vi.stubEnv('VERDICT_API_KEY', api.keys.live)
  vi.stubEnv('ENCRYPTION_KEYS', `k1:${Buffer.alloc(32).toString('base64')}`)
  vi.stubEnv('DATABASE_URL', 'postgres://nobody@127.0.0.1:1/nothing')
})
afterEach(() => void vi.unstubAllEnvs())

const textOf = async (...args: string[]) => (await runCli(['domains', ...args])).text

test('an API key is enough to add, list, show, verify, rotate and remove a domain', async () => {
  const newDomain = await runCli(['domains', 'add', 'Api.Example.org', '--require-tls'])
  expect(newDomain.json).toMatchObject({ domain: 'api.example.org', status: 'pending', require_tls: true })
  expect(newDomain.text).toContain('  rp.api.example.org.  MX  10 mail.verdict.example.\n')
  expect(newDomain.text).toContain('Then: verdict domains verify api.example.org')
  expect(await textOf('list')).toMatch(/\napi\.example\.org +pending/)
  expect(await textOf('show', 'api.example.org')).toMatch(/^api\.example\.org is pending\.\n\nSPF: pending/)
  expect(await runCli(['domains', 'verify', 'api.example.org'])).toMatchObject({ exit: 'failed' })
  expect(api.dns.asked).toContain('api.example.org')
  expect(await textOf('rotate', 'api.example.org')).toMatch(/^Publish the next key of api\.example\.org:/)
  expect(await textOf('list')).toMatch(/\(next\)/)
  expect(await textOf('remove', 'api.example.org')).toBe('Removed api.example.org.')
  await expect(runCli(['domains', 'show', 'api.example.org'])).rejects.toMatchObject({
    exit: 'not_found',
    message: 'The account has no domain api.example.org. See: verdict domains list',
  })
})

test('the pool that a domain sends from is chosen, shown with the domain, and left', async () => {
  const bound = /^example\.test is verified\. It sends from the pool main\.\n/
  expect(await textOf('pool', 'example.test', 'main')).toMatch(bound)
  expect(await textOf('show', 'example.test')).toMatch(bound)
  expect(await textOf('pool', 'example.test', 'default')).toMatch(/^example\.test is verified\.\n/)
  await expect(runCli(['domains', 'pool', 'example.test', 'nothing'])).rejects.toThrow(/pool.*main/)
})

test('the options for operators need the database', async () => {
  for (const option of [['--verified'], ['--no-warm-up'], ['--account', 'Development']]) {
    const adding = runCli(['domains', 'add', 'own.example.org', ...option])
    await expect(adding).rejects.toMatchObject({
      exit: 'unavailable',
      message: expect.stringContaining('The database cannot be used'),
    })
  }
})
