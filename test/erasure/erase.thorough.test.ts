import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { asc } from '../../server/db/drizzle.ts'
import { newId } from '../../server/db/ids.ts'
import { LeaseLost, takeLease } from '../../server/db/leases.ts'
import { auditEntries } from '../../server/db/people-schema.ts'
import { hourlyStats } from '../../server/db/schema.ts'
import { run } from '../../server/db/statement.ts'
import { addUpOpen, MOVING_LOCK, RESTING_LEASE } from '../../server/reputation/open-statistics.ts'
import { script } from '../sending/world.ts'
import { startApi } from '../services/api.ts'
import { dump, eraseIn, mentionsIn } from './world.ts'

// An erasure over everything that the API stores about an address.

const api = await startApi()

const count = async (table: string) =>
  (await run<{ n: number }>(api.world.db, `select count(*)::int as n from ${table}`))[0]!.n
const mentionsOf = async (text: string) => (await dump(api.world.db)).filter((row) => row.toLowerCase().includes(text))

/** Stores the address wherever this service stores one. */
async function storeEverywhere(email: string) {
  const { world } = api
  const spelled = email.toUpperCase().replace(/@.*/, (domain) => domain.toLowerCase())
  script(world, { rcpt: `550 5.1.1 <${email}> unknown` })
  const content = {
    to: `Ann Smith <${email}>`,
    cc: `Bob <bob@example.net>`,
    subject: `Ann, your order: ${email}`,
    html: `<a href="https://example.com/?u=${encodeURIComponent(email)}&x=1">Ann</a>`,
    headers: { 'X-Customer': 'Ann Smith', 'X-Mail': email },
    metadata: { order: '17', mail: spelled },
    tag: `for ${email}`,
    attachments: [{ filename: 'ann-smith.txt', content: 'aGk=' }],
  }
  const first = await api.send(content)
  // Its tag is in the groups of statistics now, that of the next one among what is not added up.
  await addUpOpen(world.db)
  const other = await api.send({
    to: 'bob@example.net',
    tag: `not for ${email}`,
    reply_to: [`Ann Smith <${spelled}>`, 'c@example.net'],
    text: email,
  })
  await api.call('POST', '/api/v1/suppression', { body: { email: spelled, tenant_id: 'shop' } })
  const batch = { emails: [{ to: email, from: 'hello@example.test', subject: 'x', text: 'y' }] }
  await api.call('POST', '/api/v1/emails/batch', { body: batch, headers: { 'idempotency-key': randomUUID() } })
  const { db, account } = world
  const messageId = newId(Date.now())
  const insert = (statement: string, ...more: string[]) => run(db, statement, [account.id, ...more])
  await insert(
    `insert into feedback (id, message_id, account_id, recipient, kind, detail)
     values (gen_random_uuid(), $3::uuid, $1::uuid, $2, 'complaint', 'from ' || $2)`,
    spelled,
    messageId,
  )
  await insert(
    `insert into refusals (event_id, account_id, tenant_id, email, kind)
     values (gen_random_uuid(), $1::uuid, '', $2, 'full')`,
    email,
  )
  await insert(
    `insert into attempts (dispatch_id, account_id, number, started_at, outcome, excerpt, location)
     values ($3::uuid, $1::uuid, 1, now(), 'not_200', 'no user ' || $2 || '.', 'https://a.example/' || $2)`,
    email,
    messageId,
  )
  await insert(
    `insert into range_replays (id, account_id, filter, per_second, state, total, done_until, created_by)
     values (gen_random_uuid(), $1::uuid, json_build_object('recipient', $2::text), 1, 'finished', 1, $3::uuid, 'x')`,
    email,
    messageId,
  )
  await insert(
    `insert into suppression_imports (id, account_id, tenant_id, file_name, digest, state, lines, created_by)
     values (gen_random_uuid(), $1::uuid, '', 'export_' || $2 || '.csv', '', 'finished', 1, 'x')`,
    email,
  )
  await insert(
    `insert into audit_entries (id, account_id, actor_kind, actor_name, action, target)
     values ($3::uuid, $1::uuid, 'operator', 'root', 'suppression.import', upper($2) || '.TXT')`,
    email,
    newId(Date.now()),
  )
  await insert(
    `insert into api_keys (id, account_id, name, hint, hash, test, scopes)
     values (gen_random_uuid(), $1::uuid, $2 || '-backup', 'svc', sha256($2::text::bytea), false, '{}')`,
    email,
  )
  await insert(`update accounts set name = $2 || '_1' where id = $1::uuid`, email)
  await insert(
    `update domains set checks = json_build_object('dmarc', 'v=DMARC1; rua=mailto:' || $2)
     where id = (select id from domains where account_id = $1::uuid limit 1)`,
    email,
  )
  await insert(
    `insert into webhook_endpoints (id, account_id, url, secret)
     values ($1::uuid, $1::uuid, 'https://hooks.example.com/?next=%3Fu%3D' || $2, '') on conflict (id) do update set url = excluded.url`,
    encodeURIComponent(encodeURIComponent(email)),
  )
  await insert(
    `insert into invitations (id, account_id, email, role, token_hash, expires_at)
     values (gen_random_uuid(), $1::uuid, $2, 'reader', sha256($2::text::bytea), now() + interval '7 days')`,
    email,
  )
  return { first, other }
}

test('after an erasure no row has the address in any spelling, and states, counts and other people stay', async () => {
  await storeEverywhere('ann+x@example.net')
  await api.send({ to: 'joann+x@example.net' })
  await api.send({ to: 'ann+x@example.net.au.simulator.test' })
  expect((await mentionsOf('ann+x@example.net')).length).toBeGreaterThan(12)
  const inHistory = ['messages', 'recipients', 'events', 'feedback', 'attempts']
  const tables = [...inHistory, 'suppressions', 'refusals', 'open_stats', 'group_stats']
  const countsBefore = await Promise.all(tables.map(count))
  const statsBefore = await api.world.db.select().from(hourlyStats)
  const statuses = `select status, reason, count(*)::int from messages group by 1, 2 order by 1, 2`
  const statusesBefore = await run(api.world.db, statuses)

  const dry = await mentionsIn(api.world, 'ann+x@example.net')
  const { counts } = await eraseIn(api.world, 'ann+x@example.net')
  expect(counts).toEqual(dry)

  const left = (await mentionsOf('ann+x@example.net')).filter((row) => !/joann|net\.au/.test(row))
  expect(left).toEqual([])
  expect(await mentionsOf('ann%2bx%40example.net')).toEqual([])
  expect(await mentionsOf('ann%252bx%2540example.net')).toEqual([])
  expect((await mentionsOf('ann smith')).concat(await mentionsOf('ann-smith'))).toEqual([])
  expect((await mentionsOf('joann+x@example.net')).length).toBeGreaterThan(2)
  expect(await Promise.all(tables.map(count))).toEqual(countsBefore)
  expect(await api.world.db.select().from(hourlyStats)).toEqual(statsBefore)
  expect(await run(api.world.db, statuses)).toEqual(statusesBefore)
})

test('an erased message is read, listed by the erased form and found under no address, and its texts are gone', async () => {
  const { first, other } = await storeEverywhere('ann.b@example.net')
  await eraseIn(api.world, 'ann.b@example.net')
  const { json } = await api.call('GET', `/api/v1/emails/${first.json.message_id}`)
  const [ann, bob] = json.recipients
  expect(ann).toMatchObject({
    email: expect.stringMatching(/^erased-[0-9a-f]{32}@erased\.invalid$/),
    status: 'bounced',
  })
  expect(ann.smtp).toMatchObject({ code: 550, enhanced: '5.1.1', reply: '[erased]' })
  expect(ann.smtp).not.toHaveProperty('ip')
  expect(bob.email).toBe('bob@example.net')
  expect(json).toMatchObject({ subject: '[erased]', to: [ann.email], metadata: { order: '17', mail: ann.email } })
  expect(json).not.toHaveProperty('html')
  const mentioned = await api.call('GET', `/api/v1/emails/${other.json.message_id}`)
  expect(mentioned.json).toMatchObject({ subject: 'Hello', text: ann.email })

  const list = (path: string, recipient: string) =>
    api.call('GET', `/api/v1/${path}?recipient=${encodeURIComponent(recipient)}`)
  expect((await list('emails', 'ann.b@example.net')).json.emails).toEqual([])
  expect((await list('emails', ann.email)).json.emails).toHaveLength(2)
  const byPair = (value: string) => api.call('GET', `/api/v1/emails?metadata.mail=${encodeURIComponent(value)}`)
  expect((await byPair('ANN.B@example.net')).json.emails).toEqual([])
  expect((await byPair(ann.email)).json.emails).toHaveLength(1)
  const events = (await list('events', ann.email)).json.events
  expect(events).toHaveLength(2)
  const byId = await api.call('GET', `/api/v1/events/${events[0].event_id}`)
  expect(byId.json.recipient).toBe(ann.email)
  expect((await api.call('GET', `/api/v1/emails/${first.json.message_id}/receipt`)).status).toBe(200)
})

test('what people and operators named after an address is erased with it, and an invitation of it ends', async () => {
  const { db } = api.world
  const email = 'ann.c@example.net'
  await storeEverywhere(email)
  const dry = await mentionsIn(api.world, email)
  const named = ['accounts', 'api_keys', 'domains', 'webhook_endpoints', 'invitations', 'suppression_imports']
  expect(dry[api.world.account.id]).toMatchObject(Object.fromEntries(named.map((table) => [table, 1])))
  await eraseIn(api.world, email)
  const erased = expect.stringMatching(/erased-[0-9a-f]{32}@erased\.invalid/)
  const read = async (column: string, table: string) =>
    (
      await run<{ value: string }>(
        db,
        `select ${column}::text as value from ${table} where ${column}::text like '%erased-%'`,
      )
    )
      .map(({ value }) => value)
      .at(-1)
  expect(await read('file_name', 'suppression_imports')).toMatch(/^export_erased-[0-9a-f]{32}@erased\.invalid\.csv$/)
  expect(await read('name', 'api_keys')).toMatch(/@erased\.invalid-backup$/)
  for (const [column, table] of [
    ['name', 'accounts'],
    ['checks', 'domains'],
    ['url', 'webhook_endpoints'],
    ['target', 'audit_entries'],
  ] as const)
    expect(await read(column, table), table).toEqual(erased)
  const [invitation] = await run<{ ended: boolean }>(
    db,
    `select ended_at is not null as ended from invitations where email like 'erased-%'`,
  )
  expect(invitation).toEqual({ ended: true })
})

test('addresses of other people that contain the address stay where they are', async () => {
  const { db, account } = api.world
  const others = ['mary-dan@example.net', 'dan@example.net.corp', 'dan@example.net.txt', 'dan@example.net.test']
  for (const other of others)
    await run(
      db,
      `insert into suppressions (id, account_id, tenant_id, email, reason) values ($1, $2, 'kept', $3, 'manual')`,
      [newId(Date.now()), account.id, other],
    )
  const { counts } = await eraseIn(api.world, 'dan@example.net')
  expect(counts).toEqual({})
  const kept = await run<{ email: string }>(db, `select email from suppressions where tenant_id = 'kept'`)
  expect(kept.map(({ email }) => email).sort()).toEqual(others.sort())
})

test('a suppressed address stays suppressed after its erasure, is found and can be removed by its owner', async () => {
  const email = 'sue@example.net'
  await api.call('POST', '/api/v1/suppression', { body: { email } })
  const send = async () => (await api.send({ to: [email, 'carol@example.net'] })).json.recipients
  const before = await send()
  expect(before[0]).toMatchObject({ status: 'rejected', reason: 'suppression_list' })
  await eraseIn(api.world, email)
  const after = await send()
  expect(after[0]).toMatchObject({ email, status: 'rejected', suppression: before[0].suppression })
  expect(after[1].status).toBe('delivered')

  await api.call('POST', '/api/v1/suppression', { body: { email, tenant_id: 'shop' } })
  const found = await api.call('GET', `/api/v1/suppression?email=${email}`)
  expect(found.json.entries.map((entry: { scope: string }) => entry.scope)).toEqual(['tenant', 'account'])
  expect((await api.call('DELETE', `/api/v1/suppression/${email}`)).status).toBe(200)
  expect((await send())[0].status).toBe('delivered')
})

test('an address that was suppressed again is erased again, and the longer entry stays', async () => {
  const email = 'eve@example.net'
  await api.call('POST', '/api/v1/suppression', { body: { email } })
  await eraseIn(api.world, email)
  await run(api.world.db, `update suppressions set expires_at = now() + interval '1 day' where email like 'erased-%'`)
  await api.call('POST', '/api/v1/suppression', { body: { email } })
  await eraseIn(api.world, email)
  const { json } = await api.call('GET', `/api/v1/suppression?email=${email}`)
  expect(json.entries).toMatchObject([{ email: expect.stringMatching(/^erased-/), reason: 'manual' }])
  expect(json.entries[0]).not.toHaveProperty('expires_at')
})

test('an erasure waits for the sends that are in flight, and erases them too', async () => {
  const email = 'slow@example.net'
  script(api.world, { rcpt: { after: 1_500, act: '250 ok' } })
  const sending = api.send({ to: email })
  await expect.poll(() => count('open_recipients')).toBe(1)
  const erasing = eraseIn(api.world, email)
  expect((await sending).json.status).toBe('delivered')
  const { counts } = await erasing
  expect(counts[api.world.account.id]).toMatchObject({ messages: 1, recipients: 1, events: 1 })
  expect(await mentionsOf(email)).toEqual([])
})

test('an erasure finds the tag of a row of statistics that is moved while it runs', async () => {
  const { db, account } = api.world
  const email = 'moved@example.net'
  await api.send({ to: 'bob@example.net', tag: `for ${email}` })
  await addUpOpen(db)
  const commit = Promise.withResolvers<void>()
  // As an hour is merged: in one statement, and under the lock of what adds up.
  const merging = db.$client.begin(async (tx) => {
    await run(tx, `select pg_advisory_xact_lock(${MOVING_LOCK})`)
    await run(
      tx,
      `with old_row as (delete from group_stats where key like '%' || $1 returning *)
       insert into group_stats select * from old_row`,
      [email],
    )
    await commit.promise
  })
  const erasing = eraseIn(api.world, email)
  // It waits for the row that it has found, or for the lock.
  await expect.poll(() => count('pg_locks where not granted')).toBeGreaterThan(0)
  commit.resolve()
  await merging
  const { counts } = await erasing
  expect(counts[account.id]).toMatchObject({ group_stats: 1 })
  expect(await mentionsOf(email)).toEqual([])
  expect(await count('leases')).toBe(0)
})

test('statistics rest while an erasure searches them, and go on when its lease has run out', async () => {
  const { db } = api.world
  await addUpOpen(db)
  await api.send({ to: 'bob@example.net', tag: 'resting' })
  const lease = (await takeLease(db, RESTING_LEASE))!
  await addUpOpen(db)
  expect(await count('open_stats')).toBe(1)
  await run(db, `update leases set until = now() - interval '1 second'`)
  await addUpOpen(db)
  expect(await count('open_stats')).toBe(0)
  // What moved may be a row that the erasure has passed: it must not go on.
  await expect(lease.renew(db)).rejects.toThrow(LeaseLost)
  await lease.free()
})

test('an erasure of one account leaves the others alone, and each account gets an entry without the address', async () => {
  const email = 'two@example.net'
  await api.send({ to: email })
  await run(
    api.world.db,
    `insert into suppressions (id, account_id, tenant_id, email, reason) values ($1, $2, '', $3, 'manual')`,
    [randomUUID(), randomUUID(), email],
  )
  const { counts } = await eraseIn(api.world, email, { accountId: api.world.account.id })
  expect(Object.keys(counts)).toEqual([api.world.account.id])
  expect(await mentionsOf(email)).toHaveLength(1)
  await eraseIn(api.world, email)
  expect(await mentionsOf(email)).toEqual([])
  const entries = await api.world.db.select().from(auditEntries).orderBy(asc(auditEntries.id))
  const erasures = entries.filter(({ action }) => action === 'address.erase').slice(-2)
  expect(erasures[0]).toMatchObject({
    accountId: api.world.account.id,
    after: { messages: 1, recipients: 1, events: 1 },
  })
  expect(erasures[1]).toMatchObject({ after: { suppressions: 1 } })
})

test('an interrupted erasure goes on where it stopped', async () => {
  const email = 'rerun@example.net'
  await api.send({ to: email })
  await eraseIn(api.world, email)
  const [row] = await run<{ id: string }>(
    api.world.db,
    `update erasures set finished_at = null, place = 'feedback', block = 0 where id = (select id from erasures order by id desc limit 1)
     returning id`,
  )
  await api.send({ to: email })
  const { counts, isResumed } = await eraseIn(api.world, email)
  expect(isResumed).toBe(true)
  expect(counts[api.world.account.id]).toEqual({ messages: 2, recipients: 2, events: 2 })
  expect(await mentionsOf(email)).toEqual([])
  expect(
    await run(api.world.db, 'select finished_at is not null as done from erasures where id = $1', [row!.id]),
  ).toEqual([{ done: true }])
})
