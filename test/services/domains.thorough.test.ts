import { randomUUID } from 'node:crypto'
import { afterEach, expect, test } from 'vitest'
import { DkimKeyState, DomainService, DomainStatus } from '../../gen/verdict/v1/domains_pb.ts'
import { eq, sql } from '../../server/db/drizzle.ts'
import { newId, parsePublicId, publicId } from '../../server/db/ids.ts'
import type { RecordCheck } from '../../server/db/json-columns.ts'
import { breakers, domains, warmUps } from '../../server/db/schema.ts'
import type { Findings } from '../../server/domains/dns-verifier.ts'
import { type Domain, findDomainById } from '../../server/domains/domains.ts'
import { startApi } from './api.ts'

const api = await startApi()
const empty = api.dns.find
afterEach(() => {
  api.dns.find = empty
  api.dns.asked.length = 0
})

const PATH = '/api/v1/domains'
const add = (domain: string, more: object = {}, key?: string) =>
  api.call('POST', PATH, { body: { domain, ...more }, key })
const get = (id: string) => api.call('GET', `${PATH}/${id}`)
const check = (id: string) => api.call('POST', `${PATH}/${id}/verify`)
const rotate = (id: string) => api.call('POST', `${PATH}/${id}/dkim/rotate`)
const uuid = (id: string) => parsePublicId('dom', id)!
const change = (id: string, row: Partial<typeof domains.$inferInsert>) =>
  api.world.db
    .update(domains)
    .set(row)
    .where(eq(domains.id, uuid(id)))

const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
const SELECTOR = expect.stringMatching(/^v\d{8}-[0-9a-f]{8}$/)
const record = (record: string, type: string, host: string, value: unknown, more: object = {}) => {
  return { record, type, host, value, required: true, status: 'pending', observed: [], ...more }
}

test('a domain is added with the records to publish', async () => {
  const { status, json } = await add('shop.example.com')
  const { selector } = json.dkim
  expect([status, json]).toEqual([
    200,
    {
      domain_id: expect.stringMatching(/^dom_[0-9a-z]{26}$/),
      domain: 'shop.example.com',
      status: 'pending',
      records: [
        record('SPF', 'TXT', 'rp.shop.example.com', 'v=spf1 ip4:192.0.2.25 -all'),
        record('RETURN_PATH', 'MX', 'rp.shop.example.com', '10 mail.verdict.example'),
        record(
          'DKIM',
          'TXT',
          `${selector}._domainkey.shop.example.com`,
          expect.stringMatching(/^v=DKIM1; k=rsa; p=[A-Za-z0-9+/]{392}$/),
          { strings: expect.any(Array) },
        ),
        record('DMARC', 'TXT', '_dmarc.shop.example.com', 'v=DMARC1; p=none'),
      ],
      warmup: null,
      dkim: {
        selector: SELECTOR,
        key_bits: 2048,
        keys: [{ selector, state: 'active', key_bits: 2048, created_at: TIME }],
      },
      sending: 'active',
      require_tls: false,
      created_at: TIME,
    },
  ])
  const [dkim] = json.records.filter(({ record }: { record: string }) => record === 'DKIM')
  expect(dkim.strings.join('')).toBe(dkim.value)
  expect(dkim.strings.map(({ length }: string) => length <= 255)).toEqual([true, true])
  expect((await get(json.domain_id)).text).toBe((await add('Shop.Example.COM.')).text)
})

test('no response has the private key', async () => {
  const { text, json } = await add('secret.example.com')
  const { dkimKeys } = (await findDomainById(api.world.db, uuid(json.domain_id)))!
  const { id, privateKey } = dkimKeys[0]!
  const key = api.world.sealer.open(privateKey, { table: 'dkim_keys', column: 'private_key', id })
  for (const bytes of [key, privateKey]) expect(text).not.toContain(bytes.toString('base64').slice(40, 80))
})

test('the same name again returns the same domain, with the new settings', async () => {
  const first = (await add('again.example.com')).json
  expect((await add('again.example.com')).json).toEqual(first)
  expect((await add('again.example.com', { require_tls: true })).json).toEqual({ ...first, require_tls: true })
  expect((await add('again.example.com')).json.require_tls).toBe(true)
  const many = await Promise.all(Array.from({ length: 5 }, () => add('race.example.com')))
  expect(new Set(many.map(({ text }) => text)).size).toBe(1)
})

test('internationalised names are shown as A-labels', async () => {
  const { json } = await add('Bücher.example.com')
  expect(json.domain).toBe('xn--bcher-kva.example.com')
  expect(json.records[0].host).toBe('rp.xn--bcher-kva.example.com')
  expect((await add('xn--bcher-kva.example.com')).json.domain_id).toBe(json.domain_id)
})

test.each([
  ['', 'is required'],
  ['com', 'is a single label'],
  ['co.uk', 'is a public suffix'],
  ['192.0.2.1', 'is an IP address'],
  ['2001:db8::1', 'is an IP address'],
  ['ann@example.com', 'is an email address'],
  ['*.example.com', 'holds a wildcard'],
  ['example..com', 'is not a domain name'],
  [`${'a'.repeat(63)}.`.repeat(3).concat('a'.repeat(63)), 'has more than 253 characters'],
  [`${'a'.repeat(300)}.com`, 'has more than 253 characters'],
  ['example.com\u0000', 'must not contain'],
])('the domain %j is a 400 that names it', async (domain, fault) => {
  const { status, json } = await add(domain)
  expect([status, json.error]).toEqual([400, 'invalid_payload'])
  expect(json.details).toEqual([{ field: 'domain', message: expect.stringContaining(fault) }])
})

test('a name that another account has verified can be added, and stays pending', async () => {
  const { status, json } = await add('example.test', {}, api.keys.stranger)
  expect([status, json.status]).toEqual([200, 'pending'])
  expect(json.dkim.selector).not.toBe((await api.call('GET', PATH)).json.domains[0].dkim.selector)
  await api.call('DELETE', `${PATH}/${json.domain_id}`, { key: api.keys.stranger })
})

test('only the domains of the account are listed, by name', async () => {
  await add('zoo.example.com')
  await add('ape.example.com')
  const names = (await api.call('GET', PATH)).json.domains.map(({ domain }: { domain: string }) => domain)
  expect(names).toEqual([...names].sort())
  expect(names).toEqual(expect.arrayContaining(['ape.example.com', 'example.test', 'zoo.example.com']))
  expect((await api.call('GET', PATH, { key: api.keys.stranger })).json).toEqual({ domains: [] })
})

test('a domain of another account, an unknown one and an invalid id are 404 on every path', async () => {
  const { domain_id } = (await add('mine.example.com')).json
  const before = (await get(domain_id)).text
  for (const id of [domain_id, publicId('dom', newId(Date.now())), domain_id.replace('dom_', 'msg_'), 'dom_x']) {
    for (const [verb, rest, body] of [
      ['GET', ''],
      ['PATCH', '', { require_tls: true }],
      ['DELETE', ''],
      ['POST', '/verify'],
      ['POST', '/dkim/rotate'],
    ] as const) {
      const { status, json } = await api.call(verb, `${PATH}/${id}${rest}`, { key: api.keys.stranger, body })
      const { error, message } = json
      expect([status, error, message]).toEqual([404, 'not_found', 'There is no such domain in this account.'])
    }
  }
  expect((await get(domain_id)).text).toBe(before)
  expect(api.dns.asked).toEqual([])
})

test('TLS can be required and no longer required', async () => {
  const { domain_id, ...made } = (await add('tls.example.com', { require_tls: true })).json
  expect(made.require_tls).toBe(true)
  const patch = (body: object) => api.call('PATCH', `${PATH}/${domain_id}`, { body })
  expect((await patch({ require_tls: false })).json).toEqual({ ...made, domain_id, require_tls: false })
  expect((await patch({})).json.require_tls).toBe(false)
  expect((await patch({ require_tls: true })).json.require_tls).toBe(true)
  expect((await get(domain_id)).json.require_tls).toBe(true)
  const wrong = await patch({ requires_tls: true })
  expect([wrong.status, wrong.json.details[0].field]).toEqual([400, 'requires_tls'])
})

test('a deleted domain is gone', async () => {
  const { domain_id } = (await add('gone.example.com')).json
  expect(await api.call('DELETE', `${PATH}/${domain_id}`)).toMatchObject({ status: 200, json: {} })
  expect((await get(domain_id)).status).toBe(404)
  expect((await api.call('DELETE', `${PATH}/${domain_id}`)).status).toBe(404)
  const again = (await add('gone.example.com')).json
  expect(again.domain_id).not.toBe(domain_id)
})

const found = (status: RecordCheck['status'], observed: string[] = [], error?: string): Findings[string] => {
  return { status, observed, ...(error ? { error } : {}) }
}
/** The findings in DNS when every record is right. */
const allFound = async ({ dkimKeys }: Domain): Promise<Findings> =>
  Object.fromEntries(
    ['SPF', 'RETURN_PATH', 'DMARC', ...dkimKeys.map(({ selector }) => `DKIM:${selector}`)].map((check) => [
      check,
      found('verified', [`what stands for ${check}`]),
    ]),
  )

test('a verification checks DNS and shows what it has beside what is expected', async () => {
  const { domain_id } = (await add('checked.example.com')).json
  api.dns.find = async (domain) => ({
    ...(await allFound(domain)),
    SPF: found('verified', ['v=spf1 include:all.example ip4:192.0.2.25 ~all']),
    RETURN_PATH: found('pending', [], 'The servers of checked.example.com do not answer.'),
    DMARC: found('failed', ['v=DMARC1'], 'It has no policy.'),
  })
  const { status, json } = await check(domain_id)
  const at = { last_checked_at: TIME }
  expect([status, json.status]).toEqual([200, 'pending'])
  expect(json.records).toMatchObject([
    { record: 'SPF', status: 'verified', observed: ['v=spf1 include:all.example ip4:192.0.2.25 ~all'], ...at },
    { record: 'RETURN_PATH', status: 'pending', observed: [], error: expect.stringContaining('not answer'), ...at },
    { record: 'DKIM', status: 'verified', ...at },
    { record: 'DMARC', status: 'failed', observed: ['v=DMARC1'], error: 'It has no policy.', ...at },
  ])
  expect(json.records[0]).not.toHaveProperty('error')
  expect((await get(domain_id)).json).toEqual(json)
})

test('a domain that has all required records is verified, and warms up from that day on', async () => {
  const { domain_id } = (await add('right.example.com')).json
  api.dns.find = allFound
  const { json } = await check(domain_id)
  expect(json).toMatchObject({
    status: 'verified',
    verified_at: TIME,
    warmup: { day: 1, daily_limit: 500, sent_today: 0 },
  })
  expect(json.records.map(({ status }: { status: string }) => status)).toEqual(Array(4).fill('verified'))
})

test('a name that another account has verified is not verified here; whoever owns its records is told so', async () => {
  const mine = (await add('twice.example.com')).json.domain_id
  const theirs = (await add('twice.example.com', {}, api.keys.stranger)).json.domain_id
  api.dns.find = allFound
  expect((await check(mine)).json.status).toBe('verified')
  const { json } = await api.call('POST', `${PATH}/${theirs}/verify`, { key: api.keys.stranger })
  expect(json.status).toBe('pending')
  expect(JSON.stringify(json.records)).toContain('another account has verified twice.example.com')
  await api.call('DELETE', `${PATH}/${mine}`)
  await change(theirs, { checkedAt: null })
  const again = await api.call('POST', `${PATH}/${theirs}/verify`, { key: api.keys.stranger })
  expect(again.json.status).toBe('verified')
  await api.call('DELETE', `${PATH}/${theirs}`, { key: api.keys.stranger })
})

test('within 5 s of a verification another one returns its result without asking DNS', async () => {
  const { domain_id, domain } = (await add('often.example.com')).json
  api.dns.find = allFound
  expect((await check(domain_id)).text).toBe((await check(domain_id)).text)
  expect(api.dns.asked).toEqual([domain])
  await change(domain_id, { checkedAt: new Date(api.world.clock.now() - 4_000) })
  await check(domain_id)
  expect(api.dns.asked).toEqual([domain])
  await change(domain_id, { checkedAt: new Date(api.world.clock.now() - 5_100) })
  await check(domain_id)
  expect(api.dns.asked).toEqual([domain, domain])
})

/** DNS that responds when the test says so. */
function slowDns(): () => void {
  const { promise, resolve } = Promise.withResolvers<void>()
  api.dns.find = async () => {
    await promise
    return {}
  }
  return resolve
}

test('concurrent verifications of a domain wait for one check', async () => {
  const { domain_id } = (await add('shared.example.com')).json
  const end = slowDns()
  const answers = Promise.all([check(domain_id), check(domain_id), check(domain_id)])
  await expect.poll(() => api.dns.asked).toHaveLength(1)
  end()
  expect((await answers).map(({ status }) => status)).toEqual([200, 200, 200])
  expect(api.dns.asked).toHaveLength(1)
})

test('an account has five verifications running at a time; a sixth is refused with a time to wait', async () => {
  const ids: string[] = []
  for (let i = 0; i < 6; i++) ids.push((await add(`slow-${i}.example.com`)).json.domain_id)
  const end = slowDns()
  const answers = ids.map(check)
  const { json, headers } = await Promise.race(answers)
  expect(json).toMatchObject({ error: 'rate_limit_exceeded', retry_after: 2 })
  expect(headers.get('retry-after')).toBe('2')
  end()
  const statuses = (await Promise.all(answers)).map(({ status }) => status)
  expect(statuses.sort()).toEqual([200, 200, 200, 200, 200, 429])
})

test('a check that fails on our side is a 500, and the next check runs', async () => {
  const { domain_id } = (await add('broken.example.com')).json
  api.dns.find = async () => {
    throw new Error('no sockets')
  }
  const { status, json, text } = await check(domain_id)
  expect([status, json.error, text.includes('sockets')]).toEqual([500, 'transient_failure', false])
  api.dns.find = empty
  await change(domain_id, { checkedAt: null })
  expect((await check(domain_id)).status).toBe(200)
})

test('a domain that is deleted while it is checked is a 404', async () => {
  const { domain_id } = (await add('vanishing.example.com')).json
  const end = slowDns()
  const answer = check(domain_id)
  await expect.poll(() => api.dns.asked).toHaveLength(1)
  await api.call('DELETE', `${PATH}/${domain_id}`)
  end()
  expect((await answer).status).toBe(404)
})

test('a rotation shows the next key among the records; once DNS has it, it signs, and the old key stays published', async () => {
  const { domain_id, dkim } = (await add('rotated.example.com')).json
  const { status, json } = await rotate(domain_id)
  expect([status, json.dkim.selector]).toEqual([200, dkim.selector])
  const next = json.dkim.keys[1].selector
  expect(json.dkim.keys).toMatchObject([{ state: 'active' }, { selector: SELECTOR, state: 'next', key_bits: 2048 }])
  const dkimOf = ({ records }: { records: { record: string }[] }) =>
    records.filter(({ record }) => record === 'DKIM').map(({ record: _, ...more }) => more)
  expect(dkimOf(json)).toMatchObject([
    { host: `${dkim.selector}._domainkey.rotated.example.com`, required: true },
    { host: `${next}._domainkey.rotated.example.com`, required: false, status: 'pending' },
  ])
  expect((await rotate(domain_id)).json).toEqual(json)

  api.dns.find = allFound
  const after = (await check(domain_id)).json
  expect(after.dkim).toMatchObject({
    selector: next,
    keys: [{ selector: dkim.selector, state: 'retired', retires_at: TIME }, { state: 'active' }],
  })
  expect(dkimOf(after)).toMatchObject([{ required: false }, { required: true }])
})

test('the warm-up is shown from the verification on, with its end', async () => {
  const { domain_id } = (await add('warm.example.com')).json
  const midnight = Math.floor(api.world.clock.now() / 86_400_000) * 86_400_000
  const yesterday = new Date(midnight - 3_600_000)
  await change(domain_id, { status: 'verified', verifiedAt: yesterday })
  const day = sql`(now() at time zone 'utc')::date`
  const accountId = api.world.account.id
  await api.world.db.insert(warmUps).values({ accountId, domain: 'warm.example.com', day, emails: 7 })
  const completes_at = new Date(midnight + 4 * 86_400_000).toISOString()
  expect((await get(domain_id)).json).toMatchObject({
    status: 'verified',
    verified_at: yesterday.toISOString(),
    warmup: { day: 2, daily_limit: 1000, sent_today: 7, completes_at },
  })
  await change(domain_id, { verifiedAt: new Date(midnight - 5 * 86_400_000) })
  expect((await get(domain_id)).json.warmup).toBeNull()
  await change(domain_id, { verifiedAt: yesterday, status: 'lapsed' })
  expect((await get(domain_id)).json).toMatchObject({ status: 'lapsed', warmup: null })
  await change(domain_id, { status: 'verified', warmsUp: false })
  expect((await get(domain_id)).json.warmup).toBeNull()
})

test('an open breaker is shown as paused, a half-open one as throttled', async () => {
  const { domain_id } = (await add('paused.example.com')).json
  const set = (state: 'open' | 'half_open') => {
    const key = { accountId: api.world.account.id, domain: 'paused.example.com' }
    const base = { baseEmails: 0, baseBounces: 0, baseComplaints: 0 }
    return api.world.db
      .insert(breakers)
      .values({ ...key, state, changedAt: sql`now()`, cause: 'bounces', ...base })
      .onConflictDoUpdate({ target: [breakers.accountId, breakers.domain], set: { state } })
  }
  await set('open')
  expect((await get(domain_id)).json.sending).toBe('paused')
  await set('half_open')
  expect((await get(domain_id)).json.sending).toBe('throttled')
})

test('an account has at most 1,000 domains, however many calls come at once; adding a name again does not count', async () => {
  const full = await add('first.example.com', {}, api.keys.stranger)
  const { db } = api.world
  const [first] = await db
    .select()
    .from(domains)
    .where(eq(domains.id, uuid(full.json.domain_id)))
  const names = Array.from({ length: 998 }, (_, n) => `n${n + 1}.example.com`)
  await db
    .insert(domains)
    .values(names.map((name) => ({ id: randomUUID(), accountId: first!.accountId, name, status: 'pending' as const })))
  const newNames = ['twice', 'twice', 'last1', 'last2', 'last3']
  const last = await Promise.all(newNames.map((name) => add(`${name}.example.com`, {}, api.keys.stranger)))
  const added = new Set(last.filter(({ status }) => status === 200).map((answer) => answer.json.domain))
  expect(added.size).toBe(1)
  const { json } = last.find(({ status }) => status === 400)!
  expect([json.error, json.details[0].field]).toEqual(['invalid_payload', 'domain'])
  expect(await db.$count(domains, eq(domains.accountId, first!.accountId))).toBe(1_000)
  expect((await add('first.example.com', {}, api.keys.stranger)).status).toBe(200)
})

test('gRPC does the same', async () => {
  const client = api.grpc(DomainService)
  const made = await client.createDomain({ domain: 'grpc.example.com' })
  expect(made).toMatchObject({ status: DomainStatus.PENDING, requireTls: false })
  expect(made.warmup).toBeUndefined()
  const id = made.domainId
  expect(await client.updateDomain({ id, requireTls: true })).toMatchObject({ requireTls: true })
  expect((await client.rotateDkim({ id })).dkim!.keys[1]!.state).toBe(DkimKeyState.NEXT)
  expect(await client.verifyDomain({ id })).toMatchObject({ domain: 'grpc.example.com' })
  expect((await client.listDomains({})).domains.length).toBeGreaterThan(1)
  await client.deleteDomain({ id })
  await expect(client.getDomain({ id })).rejects.toThrow('There is no such domain in this account.')
})

test('a key that resumes a domain reads who can, whatever its scopes; without a key it is unknown', async () => {
  const path = `/api/v1/domains/${(await add('paused.example.com')).json.domain_id}/resume`
  const refused = await api.call('POST', path, { body: { reason: 'clean list' } })
  expect([refused.status, refused.json.error]).toEqual([403, 'insufficient_scope'])
  expect(refused.json.message).toContain('An owner does it on the page of the domain in the dashboard')
  expect((await api.call('POST', path, { key: 'sv_live_unknown' })).status).toBe(401)
  expect((await api.call('GET', path)).status).toBe(405)
})
