import { beforeEach, expect, test } from 'vitest'
import { createKey, revokeKey } from '../../../server/access/api-keys.ts'
import type { Author } from '../../../server/access/audit/record-change.ts'
import { asc, eq } from '../../../server/db/drizzle.ts'
import { publicId } from '../../../server/db/ids.ts'
import { auditEntries } from '../../../server/db/people-schema.ts'
import { run } from '../../../server/db/statement.ts'
import { startApi } from '../../services/api.ts'

let after = '00000000-0000-0000-0000-000000000000'
const api = await startApi()
beforeEach(async () => {
  after = (await allEntries()).at(-1)?.id ?? after
})

const allEntries = () =>
  api.world.db
    .select()
    .from(auditEntries)
    .where(eq(auditEntries.accountId, api.world.account.id))
    .orderBy(asc(auditEntries.id))

/** The entries since the test began, without what every entry of a call has. */
async function entries() {
  const rows = (await allEntries()).filter(({ id }) => id > after)
  for (const { actorKind, actorName, remoteAddress } of rows) {
    expect({ actorKind, actorName, remoteAddress }).toEqual({
      actorKind: 'api_key',
      actorName: 'test',
      remoteAddress: '127.0.0.1',
    })
  }
  return rows.map(({ action, target, before, after }) => ({ action, target, before, after }))
}

test('domains: created, changed, rotated and deleted', async () => {
  const { json: domain } = await api.call('POST', '/api/v1/domains', { body: { domain: 'new.test' } })
  const path = `/api/v1/domains/${domain.domain_id}`
  await api.call('POST', '/api/v1/domains', { body: { domain: 'new.test' } })
  await api.call('PATCH', path, { body: { require_tls: true } })
  await api.call('PATCH', path, { body: { require_tls: true } })
  await api.call('POST', `${path}/dkim/rotate`)
  await api.call('POST', `${path}/dkim/rotate`)
  await api.call('DELETE', path)
  const target = 'new.test'
  expect(await entries()).toEqual([
    {
      action: 'domain.create',
      target,
      before: null,
      after: { domain_id: domain.domain_id, status: 'pending', warm_up: true, require_tls: false },
    },
    { action: 'domain.change', target, before: { require_tls: false }, after: { require_tls: true } },
    {
      action: 'dkim.rotate',
      target,
      before: null,
      after: { selector: expect.stringMatching(/^\w+/), algorithm: expect.any(String) },
    },
    {
      action: 'domain.delete',
      target,
      before: { domain_id: domain.domain_id, status: 'pending', warm_up: true, require_tls: true },
      after: null,
    },
  ])
})

test('the webhook endpoint: set, changed, its secret rotated, and deleted', async () => {
  const put = (body: object) => api.call('PUT', '/api/v1/webhook', { body })
  const url = 'http://127.0.0.1:8080/hooks'
  await put({ url })
  await put({ url })
  await put({ url, statuses: ['bounced'] })
  await api.call('POST', '/api/v1/webhook/secret/rotate')
  await api.call('DELETE', '/api/v1/webhook')
  await api.call('DELETE', '/api/v1/webhook')
  const statuses = ['delivered', 'bounced', 'rejected']
  const events = ['email.delivery']
  expect(await entries()).toEqual([
    { action: 'webhook.set', target: url, before: null, after: { url, events, statuses } },
    { action: 'webhook.set', target: url, before: { statuses }, after: { statuses: ['bounced'] } },
    { action: 'webhook.rotate_secret', target: url, before: null, after: null },
    { action: 'webhook.delete', target: url, before: { url, events, statuses: ['bounced'] }, after: null },
  ])
})

test('suppressions by hand: added, removed, and imported as one entry with counts', async () => {
  const path = '/api/v1/suppression'
  await api.call('POST', path, { body: { email: 'Ann@example.com' } })
  await api.call('POST', path, { body: { email: 'ann@example.com' } })
  await api.call('DELETE', `${path}/ann@example.com`)
  await api.call('DELETE', `${path}/ann@example.com`)
  const emails = ['bob@example.com', 'bob@example.com', 'eve@example.com', 'nobody']
  await api.call('POST', `${path}/import`, { body: { emails, tenant_id: 'shop-1' } })
  await api.call('POST', `${path}/import`, { body: { emails, tenant_id: 'shop-1' } })
  expect(await entries()).toEqual([
    { action: 'suppression.add', target: 'ann@example.com', before: null, after: { reason: 'manual' } },
    { action: 'suppression.remove', target: 'ann@example.com', before: { reason: 'manual' }, after: null },
    {
      action: 'suppression.import',
      target: '2 of 4 addresses',
      before: null,
      after: { reason: 'import', tenant_id: 'shop-1', invalid: 1, import_id: expect.stringMatching(/^imp_/) },
    },
  ])
})

test('sends, tests of the endpoint and calls that only read have no entry', async () => {
  await api.call('PUT', '/api/v1/webhook', { body: { url: 'http://127.0.0.1:9/' } })
  after = (await allEntries()).at(-1)!.id
  await api.send()
  await api.call('POST', '/api/v1/webhook/test')
  for (const path of ['domains', 'webhook', 'suppression', 'emails', 'events', 'stats', 'limits']) {
    expect((await api.call('GET', `/api/v1/${path}`)).status).toBe(200)
  }
  expect(await entries()).toEqual([])
})

test('keys: created and revoked, once', async () => {
  const { db, clock, account } = api.world
  const author: Author = { accountId: account.id, actor: { kind: 'operator', name: 'ann' } }
  const expiresAt = new Date('2099-01-01T00:00:00Z')
  const newKey = { accountId: account.id, name: 'shop', kind: 'live', scopes: ['emails.send'], expiresAt } as const
  const { apiKey } = await createKey(db, clock, { ...newKey, requester: author })
  await revokeKey(db, account.id, apiKey.id, author)
  await revokeKey(db, account.id, apiKey.id, author)
  const rows = (await allEntries()).filter(({ id }) => id > after)
  const created = { key_id: publicId('key', apiKey.id), test: false, scopes: ['emails.send'] }
  expect(rows).toMatchObject([
    { action: 'key.create', target: 'shop', after: { ...created, expires_at: expiresAt.toISOString() } },
    { action: 'key.revoke', target: 'shop', before: { revoked_at: null }, after: { revoked_at: expect.any(String) } },
  ])
})

test('no entry holds a secret', async () => {
  const { db, clock, account } = api.world
  const author: Author = { accountId: account.id, actor: { kind: 'operator', name: 'ann' } }
  const newKey = { accountId: account.id, name: 'canary', kind: 'live', scopes: ['emails.send'], author } as const
  const { key, apiKey } = await createKey(db, clock, newKey)
  await api.call('DELETE', '/api/v1/webhook')
  const put = await api.call('PUT', '/api/v1/webhook', { body: { url: 'http://127.0.0.1:9/' } })
  const rotated = await api.call('POST', '/api/v1/webhook/secret/rotate')
  const { json: domain } = await api.call('POST', '/api/v1/domains', { body: { domain: 'canary.test' } })
  await api.call('POST', `/api/v1/domains/${domain.domain_id}/dkim/rotate`)
  const table = JSON.stringify(await run(db, 'select * from audit_entries'))
  expect(table).toContain('canary.test')
  const secrets = [key, apiKey.hint, put.json.secret, rotated.json.secret, ...Object.values(api.keys)]
  for (const secret of secrets) {
    expect(secret).toMatch(/^(svc_live_|svc_test_|whsec_)/)
    expect(table).not.toContain(secret)
    expect(table).not.toContain(secret.slice(-20))
  }
  expect(table).not.toMatch(/PRIVATE KEY/)
})
