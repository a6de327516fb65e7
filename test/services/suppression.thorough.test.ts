import { expect, test } from 'vitest'
import { SuppressionService } from '../../gen/verdict/v1/suppression_pb.ts'
import { and, eq } from '../../server/db/drizzle.ts'
import { newId, publicId } from '../../server/db/ids.ts'
import { auditEntries } from '../../server/db/people-schema.ts'
import { EVERYBODY, suppressions } from '../../server/db/schema.ts'
import { startApi } from './api.ts'

const api = await startApi()

type Entry = Record<string, string>

const PATH = '/api/v1/suppression'
const importAll = (body: object, key?: string) => api.call('POST', `${PATH}/import`, { body, key })
const add = (body: object) => api.call('POST', PATH, { body })
const list = (query: string, key?: string) => api.call('GET', `${PATH}?${query}`, { key })
const remove = (email: string, query = '', key?: string) => api.call('DELETE', `${PATH}/${email}${query}`, { key })
const listed = async (query: string): Promise<Entry[]> => (await list(query)).json.entries

/** Inserts a row as it is, also for other accounts. */
async function insert(email: string, change: Partial<typeof suppressions.$inferInsert> = {}) {
  const row = { id: newId(Date.now()), accountId: api.world.account.id, tenantId: '', email, reason: 'bounce' as const }
  await api.world.db.insert(suppressions).values({ ...row, ...change })
}

async function rowOf(email: string, tenantId = '') {
  const [row] = await api.world.db
    .select()
    .from(suppressions)
    .where(and(eq(suppressions.email, email), eq(suppressions.tenantId, tenantId)))
  return row
}

async function countRows(): Promise<number> {
  return api.world.db.$count(suppressions)
}

const IMPORT_ID = expect.stringMatching(/^imp_[0-9a-z]{26}$/)
const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)

test('an import reports what it imported, what was suppressed already and what is not an address', async () => {
  await add({ email: 'there@import.example' })
  const emails = ['new@import.example', 'there@import.example', 'no address', 'NEW@import.example', '', 'a@b']
  expect((await importAll({ emails })).json).toEqual({
    imported: 1,
    already_suppressed: 2,
    invalid: 3,
    total: 6,
    errors: [
      { index: 2, email: 'no address', error: 'invalid_address' },
      { index: 4, email: '', error: 'invalid_address' },
      { index: 5, email: 'a@b', error: 'invalid_address' },
    ],
    import_id: IMPORT_ID,
  })
  expect(await listed('email=new@import.example')).toEqual([
    { email: 'new@import.example', scope: 'account', reason: 'import', created_at: TIME },
  ])
  expect((await importAll({ emails })).json).toMatchObject({ imported: 0, already_suppressed: 3, invalid: 3 })
})

test('an import without any valid address is accepted', async () => {
  expect(await importAll({ emails: ['x'] })).toMatchObject({ status: 200, json: { imported: 0, invalid: 1, total: 1 } })
})

test('addresses that differ in case or in the form of their domain are one address', async () => {
  const emails = ['Ann@Bücher.example', 'ann@xn--bcher-kva.example', 'ANN@BÜCHER.EXAMPLE', '"ann"@bücher.example']
  expect((await importAll({ emails })).json).toMatchObject({ imported: 1, already_suppressed: 3, invalid: 0 })
  const [entry] = await listed(`email=${encodeURIComponent('aNN@bücher.Example')}`)
  expect(entry).toMatchObject({ email: 'ann@xn--bcher-kva.example' })
  expect((await add({ email: 'Ann@BÜCHER.example' })).json).toEqual(entry)
  expect((await remove(encodeURIComponent('Ann@Bücher.example'))).status).toBe(200)
  expect(await listed('email=ann@xn--bcher-kva.example')).toEqual([])
})

test('the default reason of an import is import, and that of an added entry is manual', async () => {
  await importAll({ emails: ['old@reason.example'], reason: 'complaint' })
  expect((await listed('email=old@reason.example'))[0]).toMatchObject({ reason: 'complaint' })
  expect((await add({ email: 'plain@reason.example' })).json).toMatchObject({ reason: 'manual' })
  expect((await add({ email: 'told@reason.example', reason: 'bounce' })).json).toMatchObject({ reason: 'bounce' })
})

test('a permanent entry keeps its reason, its message and its time', async () => {
  const messageId = newId(Date.now())
  const createdAt = new Date('2026-01-02T03:04:05.678Z')
  await insert('kept@stay.example', { messageId, detail: '550 5.1.1 unknown', createdAt })
  expect((await importAll({ emails: ['kept@stay.example'] })).json).toMatchObject({
    imported: 0,
    already_suppressed: 1,
  })
  expect((await add({ email: 'kept@stay.example', reason: 'manual' })).json).toEqual({
    email: 'kept@stay.example',
    scope: 'account',
    reason: 'bounce',
    message_id: publicId('msg', messageId),
    detail: '550 5.1.1 unknown',
    created_at: '2026-01-02T03:04:05.678Z',
  })
})

test.each([
  ['expires', 3_600_000],
  ['has expired', -3_600_000],
])('an entry that %s is replaced by a permanent one', async (_, inMs) => {
  const stale = { detail: 'full', messageId: newId(Date.now()), expiresAt: new Date(Date.now() + inMs) }
  await insert(`import${inMs}@expiry.example`, stale)
  await insert(`add${inMs}@expiry.example`, stale)
  expect((await importAll({ emails: [`import${inMs}@expiry.example`] })).json).toMatchObject({ imported: 1 })
  await add({ email: `add${inMs}@expiry.example` })
  for (const [word, reason] of [
    ['import', 'import'],
    ['add', 'manual'],
  ]) {
    const email = `${word}${inMs}@expiry.example`
    expect(await listed(`email=${email}`)).toEqual([{ email, scope: 'account', reason, created_at: TIME }])
  }
})

test('an expired entry is not listed and cannot be removed', async () => {
  await insert('over@gone.example', { expiresAt: new Date(Date.now() - 1_000) })
  await insert('week@gone.example', { expiresAt: new Date(Date.now() + 60_000) })
  expect(await listed('email=over@gone.example')).toEqual([])
  expect(await listed('email=week@gone.example')).toMatchObject([{ expires_at: TIME }])
  expect((await remove('over@gone.example')).status).toBe(404)
})

test('the lists of a tenant and of the account are separate', async () => {
  await importAll({ emails: ['a@tenant.example'], tenant_id: 'acme' })
  await importAll({ emails: ['a@tenant.example'], tenant_id: 'zeta' })
  expect((await importAll({ emails: ['a@tenant.example'] })).json).toMatchObject({ imported: 1 })
  expect((await listed('email=a@tenant.example')).map(({ scope, tenant_id }) => [scope, tenant_id])).toEqual([
    ['account', undefined],
    ['tenant', 'zeta'],
    ['tenant', 'acme'],
  ])
  expect(await listed('tenant_id=acme')).toMatchObject([{ email: 'a@tenant.example', tenant_id: 'acme' }])
  expect((await remove('a@tenant.example', '?tenant_id=acme')).json).toEqual({})
  expect((await remove('a@tenant.example', '?tenant_id=acme')).status).toBe(404)
  expect(await listed('email=a@tenant.example')).toHaveLength(2)
  await remove('a@tenant.example')
  expect(await listed('email=a@tenant.example')).toMatchObject([{ tenant_id: 'zeta' }])
})

test('a removed address can be mailed again, and added anew', async () => {
  await add({ email: 'back@remove.example' })
  expect(await remove('BACK@remove.example')).toMatchObject({ status: 200, text: '{}' })
  expect(await listed('email=back@remove.example')).toEqual([])
  expect(await remove('back@remove.example')).toMatchObject({ status: 404, json: { error: 'not_found' } })
  expect((await add({ email: 'back@remove.example' })).status).toBe(200)
})

test.each([
  ['plus+tag@path.example', 'plus+tag@path.example'],
  ['plus+tag@path.example', 'plus%2Btag%40path.example'],
  ['a/b@path.example', 'a%2Fb@path.example'],
  ['per%25cent@path.example', 'per%2525cent@path.example'],
  ['who?@path.example', 'who%3F@path.example'],
  ['hash#tag@path.example', 'hash%23tag@path.example'],
  ['"two words"@path.example', '%22two%20words%22@path.example'],
])('%s in a path is written as %s', async (email, path) => {
  expect((await add({ email })).json).toMatchObject({ email })
  expect((await remove(path)).status).toBe(200)
})

test('addresses that two imports contain at the same time are counted once', async () => {
  const emails = Array.from({ length: 300 }, (_, i) => `${i}@race.example`)
  const answers = await Promise.all([emails, emails.toReversed(), emails].map((emails) => importAll({ emails })))
  const total = answers.reduce((sum, { json }) => sum + json.imported, 0)
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
  expect(total).toBe(300)
})

test('the global entry of an address is shown with it, without the message that created it', async () => {
  await insert('g@global.example', { accountId: EVERYBODY, messageId: newId(Date.now()), detail: 'of another account' })
  expect(await listed('email=G@global.example')).toEqual([
    { email: 'g@global.example', scope: 'global', reason: 'bounce', created_at: TIME },
  ])
  expect((await listed('limit=100')).map(({ email }) => email)).not.toContain('g@global.example')
  expect(await listed('email=g@global.example&tenant_id=acme')).toEqual([])
})

test('an account never changes a global entry', async () => {
  await insert('h@global.example', { accountId: EVERYBODY, expiresAt: new Date(Date.now() + 60_000) })
  const before = await rowOf('h@global.example')
  expect(await remove('h@global.example')).toMatchObject({
    status: 404,
    json: { error: 'not_found', message: expect.stringContaining('global') },
  })
  expect((await importAll({ emails: ['h@global.example'] })).json).toMatchObject({ imported: 1 })
  expect((await remove('h@global.example')).status).toBe(200)
  expect(await rowOf('h@global.example')).toEqual(before)
})

test('lists are newest first, and pages of one return every entry once', async () => {
  const emails = Array.from({ length: 7 }, (_, i) => `${i}@pages.example`)
  for (const email of emails) await add({ email, tenant_id: 'pages' })
  const seen: string[] = []
  let cursor = ''
  for (let page = 0; page < 10; page++) {
    const { json } = await list(`tenant_id=pages&limit=1${cursor && `&cursor=${cursor}`}`)
    expect(json.has_more).toBe(json.next_cursor !== undefined)
    seen.push(...json.entries.map(({ email }: Entry) => email))
    if (!json.has_more) break
    cursor = json.next_cursor
  }
  expect(seen).toEqual(emails.toReversed())
})

test('an entry must match all filters', async () => {
  await add({ email: 'f@filter.example', reason: 'complaint', tenant_id: 'filter' })
  await add({ email: 'g@filter.example', tenant_id: 'filter' })
  const found = async (query: string) => (await listed(query)).map(({ email }) => email)
  expect(await found('tenant_id=filter&reason=complaint')).toEqual(['f@filter.example'])
  expect(await found('tenant_id=filter&email=g@filter.example')).toEqual(['g@filter.example'])
  expect(await found('email=g@filter.example&reason=complaint')).toEqual([])
  expect(await found('tenant_id=unknown')).toEqual([])
})

test('a cursor of other filters, of another list, or one that was tampered with, is refused', async () => {
  for (const email of ['a@cursor.example', 'b@cursor.example']) await add({ email, tenant_id: 'cursor' })
  const { next_cursor: cursor } = (await list('tenant_id=cursor&limit=1')).json
  expect((await list(`tenant_id=cursor&limit=2&cursor=${cursor}`)).status).toBe(200)
  expect((await list(`tenant_id=other&cursor=${cursor}`)).status).toBe(400)
  expect((await list(`cursor=${cursor}`)).status).toBe(400)
  const plain = (await list('limit=1')).json.next_cursor
  expect((await api.call('GET', `/api/v1/events?cursor=${plain}`)).status).toBe(400)
  for (let at = 0; at < cursor.length; at += 5) {
    const changed = cursor.slice(0, at) + (cursor[at] === 'A' ? 'B' : 'A') + cursor.slice(at + 1)
    const { status, json } = await list(`tenant_id=cursor&limit=1&cursor=${changed}`)
    expect([status, json.error, json.details?.[0]?.field]).toEqual([400, 'invalid_payload', 'cursor'])
  }
})

const tooMany = Array.from({ length: 10_001 }, (_, i) => `${i}@many.example`)

test.each([
  ['POST', '/import', { emails: [] }, 'emails'],
  ['POST', '/import', {}, 'emails'],
  ['POST', '/import', { emails: tooMany }, 'emails'],
  ['POST', '/import', { emails: 'a@bad.example' }, 'emails'],
  ['POST', '/import', { emails: ['a@bad.example', 7] }, 'emails[1]'],
  ['POST', '/import', { emails: ['a@bad.example'], tenant_id: '' }, 'tenant_id'],
  ['POST', '/import', { emails: ['a@bad.example'], tenant_id: 't'.repeat(129) }, 'tenant_id'],
  ['POST', '/import', { emails: ['a@bad.example'], tenant_id: 'a\0b' }, 'tenant_id'],
  ['POST', '/import', { emails: ['a@bad.example'], tenant_id: '\ud800' }, 'tenant_id'],
  ['POST', '/import', { emails: ['a@bad.example'], reason: 'unsubscribe' }, 'reason'],
  ['POST', '/import', { emails: ['a@bad.example'], scope: 'global' }, 'scope'],
  ['POST', '', {}, 'email'],
  ['POST', '', { email: 'a@bad.example\0' }, 'email'],
  ['POST', '', { email: 'a@bad.example', tenant_id: '\n' }, 'tenant_id'],
  ['POST', '', { email: 'a@bad.example', reason: 'x' }, 'reason'],
  ['POST', '', { email: 'a@bad.example', expires_at: '2026-01-01' }, 'expires_at'],
  ['DELETE', '/%00', undefined, 'email'],
  ['DELETE', '/a@bad.example?tenant_id=', undefined, 'tenant_id'],
  ['DELETE', '/a@bad.example?tenant=x', undefined, 'tenant'],
  ['DELETE', '/a@bad.example?email=b@bad.example', undefined, 'email'],
  ['GET', '?reason=unknown', undefined, 'reason'],
  ['GET', '?tenant_id=%00', undefined, 'tenant_id'],
  ['GET', '?limit=0', undefined, 'limit'],
  ['GET', '?limit=1001', undefined, 'limit'],
  ['GET', '?created_from=yesterday', undefined, 'created_from'],
  ['GET', '?created_from=2026-01-02&created_to=2026-01-01', undefined, 'created_from'],
  ['GET', '?domain=no_domain', undefined, 'domain'],
  ['GET', '?kind=dead', undefined, 'kind'],
  ['POST', '/lift', { created_to: '2026-01-02' }, 'created_from'],
  ['POST', '/lift', { created_from: '2026-01-02' }, 'created_to'],
  ['POST', '/lift', { created_from: '2026-01-02', created_to: '2026-01-01' }, 'created_from'],
  ['POST', '/lift', { created_from: '2026-01-01', created_to: '2026-01-02', kind: 'complaint' }, 'kind'],
  ['POST', '/lift', { created_from: '2026-01-01', created_to: '2026-01-02', tenant_id: '' }, 'tenant_id'],
  ['GET', '?cursor=AAAA', undefined, 'cursor'],
  ['GET', '?scope=global', undefined, 'scope'],
] as const)(
  '%s %s with bad input %#: 400 invalid_payload names the field, nothing changed',
  async (method, path, body, field) => {
    const before = await countRows()
    const { status, json } = await api.call(method, PATH + path, { body })
    expect([status, json.error, json.details?.[0]?.field]).toEqual([400, 'invalid_payload', field])
    expect(await countRows()).toBe(before)
  },
)

test.each([
  ['POST', '', { email: 'Ann <a@bad.example>' }],
  ['POST', '', { email: 'a@localhost' }],
  ['DELETE', '/nobody', undefined],
  ['GET', '?email=nobody', undefined],
] as const)('%s %s with a malformed address: 400 invalid_address, nothing changed', async (method, path, body) => {
  const before = await countRows()
  const { status, json } = await api.call(method, PATH + path, { body })
  expect([status, json.error, json.details?.[0]?.field]).toEqual([400, 'invalid_address', 'email'])
  expect(await countRows()).toBe(before)
})

test('a removal with a body is refused: its tenant would be ignored, and the entry of the account removed', async () => {
  await add({ email: 'body@example.com' })
  const before = await countRows()
  const removal = `${PATH}/body@example.com`
  const { status, json } = await api.call('DELETE', removal, { body: { tenant_id: 'shop-1' } })
  expect([status, json.error]).toEqual([400, 'invalid_payload'])
  expect(await countRows()).toBe(before)
  expect((await api.call('DELETE', removal, { body: {} })).status).toBe(200)
})

test('a send to a suppressed address is rejected before its mail server is asked, and says why', async () => {
  await importAll({ emails: ['ANN@Example.NET'], reason: 'complaint' })
  const { json } = await api.send({ to: 'Ann@example.net', tenant_id: 'any' })
  expect(json).toMatchObject({
    status: 'rejected',
    reason: 'suppression_list',
    suppression: { scope: 'account', cause: 'complaint', since: TIME },
  })
  expect(api.world.exchanger.sessions).toEqual([])
  const dry = await api.send({ to: 'Ann@example.net' }, { 'x-service-sandbox': 'true' })
  expect(dry.json).toMatchObject({ status: 'rejected', reason: 'suppression_list', sandbox: true })
  await remove('ann@example.net')
  expect((await api.send({ to: 'Ann@example.net' })).json.status).toBe('delivered')
})

test('the entry of a tenant suppresses only the sends of that tenant', async () => {
  await add({ email: 'tom@example.net', tenant_id: 'acme' })
  const statusFor = async (tenant_id?: string) => (await api.send({ to: 'tom@example.net', tenant_id })).json.status
  expect([await statusFor('acme'), await statusFor('zeta'), await statusFor()]).toEqual([
    'rejected',
    'delivered',
    'delivered',
  ])
})

test('import is not an address: other methods of its path are refused', async () => {
  expect((await remove('import')).status).toBe(405)
})

test('the response about an entry of another account is byte for byte that of an unknown entry', async () => {
  await add({ email: 'ours@alien.example', tenant_id: 'acme' })
  const before = await countRows()
  const answer = async (email: string, query: string) => {
    const calls = [await remove(email, query, api.keys.stranger), await list(`email=${email}`, api.keys.stranger)]
    return calls.map(({ status, text, json }) => [
      status,
      text.replaceAll(json.request_id, 'id').replaceAll(email, 'it'),
    ])
  }
  for (const query of ['', '?tenant_id=acme']) {
    expect(await answer('ours@alien.example', query)).toEqual(await answer('none@alien.example', query))
  }
  expect((await list('tenant_id=acme', api.keys.stranger)).json).toEqual({ entries: [], has_more: false })
  expect(await countRows()).toBe(before)
  const theirs = await importAll({ emails: ['ours@alien.example'], tenant_id: 'acme' }, api.keys.stranger)
  expect(theirs.json).toMatchObject({ imported: 1, already_suppressed: 0 })
  expect(await listed('email=ours@alien.example')).toHaveLength(1)
})

test('gRPC returns the same, and refuses values that the contract lacks', async () => {
  const client = api.grpc(SuppressionService)
  const imported = await client.import({ emails: ['a@grpc.example', 'x'] })
  expect(imported).toMatchObject({ imported: 1, alreadySuppressed: 0, invalid: 1, total: 2 })
  expect((await client.list({ email: 'a@grpc.example' })).entries).toMatchObject([{ email: 'a@grpc.example' }])
  await expect(client.add({ email: 'b@grpc.example', reason: 9 as never })).rejects.toThrow('reason')
  await expect(client.list({ reason: 0 })).rejects.toThrow('reason')
  await client.remove({ email: 'a@grpc.example' })
  await expect(client.remove({ email: 'a@grpc.example' })).rejects.toThrow('no such entry')
})

const undo = (importId: string, key?: string) => api.call('DELETE', `${PATH}/imports/${importId}`, { key })
const newImport = () => publicId('imp', newId(Date.now()))

test('a dry run counts what an import would do, shows the first ten of each, and changes nothing', async () => {
  const known = Array.from({ length: 12 }, (_, i) => `known${i}@dry.example`)
  const added = Array.from({ length: 11 }, (_, i) => `new${i}@dry.example`)
  await importAll({ emails: known })
  await insert('expiring@dry.example', { expiresAt: new Date(Date.now() + 60_000) })
  const before = await countRows()
  const emails = [...added, ...known, 'NEW1@dry.example', 'nobody', 'expiring@dry.example']
  const { json } = await importAll({ emails, dry_run: true })
  expect(json).toEqual({
    imported: 12,
    already_suppressed: 13,
    invalid: 1,
    total: 26,
    errors: [{ index: 24, email: 'nobody', error: 'invalid_address' }],
    preview: { added: added.slice(0, 10), known: expect.any(Array) },
  })
  expect(json.preview.known).toHaveLength(10)
  expect(known).toEqual(expect.arrayContaining(json.preview.known))
  expect(await countRows()).toBe(before)
  expect((await rowOf('expiring@dry.example'))!.expiresAt).not.toBeNull()
  // The import does what its dry run said.
  const { imported, already_suppressed } = (await importAll({ emails })).json
  expect({ imported, already_suppressed }).toEqual({ imported: 12, already_suppressed: 13 })
})

test('an import is undone as one, and what existed before stays as it was', async () => {
  await add({ email: 'before@undo.example', reason: 'complaint' })
  const expiresAt = new Date(Date.now() + 3_600_000)
  await insert('expiring@undo.example', { expiresAt, detail: '452 full', messageId: newId(Date.now()) })
  await insert('expired@undo.example', { expiresAt: new Date(Date.now() - 1_000) })
  const before = await rowOf('expiring@undo.example')
  const emails = ['before@undo.example', 'expiring@undo.example', 'expired@undo.example', 'new@undo.example']
  const { import_id } = (await importAll({ emails })).json
  expect(await importAll({ emails: ['second@undo.example'], import_id, tenant_id: 'shop-1' })).toMatchObject({
    json: { imported: 1, import_id },
  })
  const other = (await importAll({ emails: ['other@undo.example'] })).json.import_id

  expect(await undo(import_id)).toMatchObject({ status: 200, json: { removed: 3, restored: 1 } })
  expect(await listed('email=before@undo.example')).toMatchObject([{ reason: 'complaint' }])
  expect(await rowOf('expiring@undo.example')).toEqual(before)
  for (const name of ['new', 'expired']) expect(await rowOf(`${name}@undo.example`)).toBeUndefined()
  expect(await rowOf('second@undo.example', 'shop-1')).toBeUndefined()
  expect(await listed('email=other@undo.example')).toHaveLength(1)

  expect(await undo(import_id)).toMatchObject({ status: 404, json: { error: 'not_found' } })
  expect((await undo(other)).json).toEqual({ removed: 1, restored: 0 })
})

test('undoing an import leaves an entry that another import or a call asked for as well', async () => {
  const emails = ['shared@twice.example', 'added@twice.example', 'alone@twice.example']
  const first = (await importAll({ emails })).json.import_id
  const again = await importAll({ emails: ['shared@twice.example'] })
  expect(again.json).toMatchObject({ imported: 0, already_suppressed: 1 })
  await add({ email: 'added@twice.example' })
  // Requests of the same import are one.
  await importAll({ emails: ['alone@twice.example'], import_id: first })
  expect((await undo(first)).json).toEqual({ removed: 1, restored: 0 })
  expect(await listed('email=shared@twice.example')).toHaveLength(1)
  expect(await listed('email=added@twice.example')).toHaveLength(1)
  expect(await undo(again.json.import_id)).toMatchObject({ status: 404 })
})

test('an import of more entries than one step is undone whole, and recorded once', async () => {
  const import_id = newImport()
  const emails = Array.from({ length: 6_000 }, (_, i) => `${i}@steps.example`)
  await importAll({ emails, import_id })
  expect((await undo(import_id)).json).toEqual({ removed: 6_000, restored: 0 })
  const entries = await api.world.db.select().from(auditEntries).where(eq(auditEntries.target, import_id))
  expect(entries).toMatchObject([{ action: 'suppression.undo_import', after: { entries: 6_000, import_id } }])
})

test('an identifier that is none of an import is refused, and those of other accounts are unknown', async () => {
  const { import_id } = (await importAll({ emails: ['mine@foreign.example'] })).json
  for (const text of ['imp_1', 'msg_01jx5be5r0f3s8n1m6k4z9w2ct', `${import_id}x`]) {
    expect(await undo(text)).toMatchObject({ status: 400, json: { details: [{ field: 'import_id' }] } })
    const answer = await importAll({ emails: ['x@foreign.example'], import_id: text })
    expect(answer).toMatchObject({ status: 400, json: { details: [{ field: 'import_id' }] } })
  }
  expect(await undo(import_id, api.keys.stranger)).toMatchObject({ status: 404 })
  expect(await undo(newImport())).toMatchObject({ status: 404 })
  expect(await listed('email=mine@foreign.example')).toHaveLength(1)
})

test('concurrent calls that add and remove an address never fail', async () => {
  const calls = Array.from({ length: 40 }, (_, i) =>
    i % 2 ? remove('busy@race.example') : add({ email: 'busy@race.example' }),
  )
  for (const { status, json } of await Promise.all(calls)) {
    expect(status === 404 || (status === 200 && (json.email === 'busy@race.example' || json.email === undefined))).toBe(
      true,
    )
  }
})
