import { expect, test } from 'vitest'
import { createKey } from '../../server/access/api-keys.ts'
import { publicId } from '../../server/db/ids.ts'
import { startApi } from './api.ts'

const api = await startApi()

test.each([
  { kind: 'live', scopes: ['stats.read', 'emails.read'], expiresAt: new Date('2099-01-31T00:00:00Z') },
  { kind: 'live', scopes: [], expiresAt: undefined },
  { kind: 'test', scopes: ['emails.send'], expiresAt: undefined },
] as const)('a key learns who it is, whatever its scopes: %j', async ({ kind, scopes, expiresAt }) => {
  const { db, clock, account } = api.world
  const { key, apiKey } = await createKey(db, clock, {
    accountId: account.id,
    name: 'a key',
    kind,
    scopes: [...scopes],
    expiresAt,
  })
  const { status, json } = await api.call('GET', '/api/v1/account', { key })
  expect(status).toBe(200)
  expect(json).toEqual({
    account_id: publicId('acc', account.id),
    name: expect.stringMatching(/./),
    mode: kind,
    scopes: [...scopes].sort(),
    key_id: publicId('key', apiKey.id),
    ...(expiresAt && { key_expires_at: expiresAt.toISOString() }),
    tier: expect.stringMatching(/./),
    region: expect.any(String),
  })
})

test('an unknown key learns nothing', async () => {
  expect((await api.call('GET', '/api/v1/account', { key: 'svc_live_unknown' })).status).toBe(401)
})
