import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseMailbox } from '../../mail/address.ts'
import { newId } from '../../server/db/ids.ts'
import { run } from '../../server/db/statement.ts'
import { PLACES } from '../../server/erasure/places.ts'
import { type Found, find, partsOf, rangesOf } from '../../server/erasure/scan.ts'
import { wantedAddress } from '../../server/erasure/spellings.ts'
import { createErasedForm } from '../../server/reputation/erased-form.ts'
import { testAccount } from '../harness/account.ts'

// Indexes lead to the rows of history that may mention an address. Here every row is also searched without them.

const database = await testAccount()

const EMAIL = 'ann@xn--bcher-kva.example'
const wanted = wantedAddress(EMAIL, createErasedForm(Buffer.alloc(32)))

const SPELLINGS = [EMAIL, 'Ann@xn--BCHER-kva.example', 'ann@bücher.example']
/** The address may also be in a local part. */
const OTHERS = [
  'bob@example.net',
  'joann@example.net',
  `"${EMAIL}"@gateway.example`,
  `x=ann%40xn--bcher-kva.example@c.example`,
]
const mailbox = fc
  .tuple(fc.constantFrom('', 'Ann', '"ann@home"'), fc.constantFrom(...SPELLINGS, ...OTHERS))
  .map(([name, address]) => (name === '' ? address : `${name} <${address}>`))
const words = fc
  .tuple(
    fc.constantFrom('', 'Your order ', 'At 5 % @ home '),
    fc.constantFrom(
      '',
      '',
      ...SPELLINGS,
      ...SPELLINGS.map(encodeURIComponent),
      ...SPELLINGS.map((text) => encodeURIComponent(encodeURIComponent(text))),
      ...SPELLINGS.map((text) => `${text}.txt`),
      encodeURIComponent(EMAIL).toLowerCase(),
    ),
  )
  .map((texts) => texts.join(''))
const rare = fc.oneof({ weight: 5, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: words })

const message = fc.record({
  from: mailbox,
  to: fc.array(mailbox, { minLength: 1, maxLength: 2 }),
  reply_to: fc.oneof({ weight: 5, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: mailbox }),
  subject: fc.oneof(fc.constant('Hello'), words),
  field: rare,
  metadata: rare,
  tag: rare,
  text: rare,
  check: rare,
  reply: rare,
  report: rare,
})
type Stored = typeof message extends fc.Arbitrary<infer Value> ? Value : never

const MESSAGE = `
  insert into messages (id, account_id, status, sandbox, region, domain, tag, size_bytes, created_at, completed_at, request, checks)
  values ($1, $2, 'delivered', false, 'eu', $3, $4, 1, now(), now(), $5::text::json, $6::text::json)`
const RECIPIENT = `
  insert into recipients (message_id, account_id, position, event_id, email, status, retryable, in_doubt, smtp)
  values ($1, $2, $3::int, $4, $5, 'delivered', false, false, $6::text::json)`
const EVENT = `
  insert into events (id, message_id, account_id, status, recipient, sandbox, tag, metadata, detail, created_at)
  values ($1, $2, $3, 'delivered', $4, false, $5, $6::text::json, $7, now())`

/** Stores a message as a send does. */
async function store({ from, to, reply_to, subject, ...more }: Stored): Promise<void> {
  const { db, clock, accountId } = database
  const { field, metadata, tag = null, text, check, reply, report = null } = more
  const id = newId(clock.now())
  const fields = metadata === undefined ? undefined : { note: metadata }
  const headers = field === undefined ? [] : [['X-Note', field]]
  const request = { from, to, reply_to, subject, headers, attachments: [], metadata: fields, tag, text }
  const checks = check === undefined ? null : JSON.stringify([{ name: 'suppression', detail: check }])
  const { domain } = parseMailbox(from)!
  await run(db, MESSAGE, [id, accountId, domain, tag, JSON.stringify(request), checks])
  const addresses = new Set(to.map((one) => parseMailbox(one)!.address))
  for (const [position, address] of [...addresses].entries()) {
    const eventId = newId(clock.now())
    const smtp = reply === undefined ? null : JSON.stringify({ mx: 'mx.example.net', reply: `250 ${reply}` })
    await run(db, RECIPIENT, [id, accountId, String(position), eventId, address, smtp])
    await run(db, EVENT, [eventId, id, accountId, address, tag, fields ? JSON.stringify(fields) : null, report])
  }
}

/** The rows of a table that mention the address. */
async function search(table: string, isByIndex: boolean): Promise<string[]> {
  const { db } = database
  const found: Found[] = []
  for (const part of (await partsOf(db)).filter(({ place }) => place.table === table)) {
    if (!isByIndex) found.push(...(await find(db, part, { where: 'true' }, { wanted })))
    else
      for await (const range of rangesOf(db, part, 0, wanted)) found.push(...(await find(db, part, range, { wanted })))
  }
  return found.map(({ at, row }) => `${at} ${JSON.stringify(row)}`).sort()
}

test('the indexes lead to every row of history that mentions an address', async () => {
  for (const one of fc.sample(message, 500)) await store(one)
  for (const { table } of PLACES.filter(({ candidates }) => candidates)) {
    const all = await search(table, false)
    expect(all.length).toBeGreaterThan(100)
    expect(await search(table, true)).toEqual(all)
  }
})

test('a message is found although its recipient was erased before', async () => {
  const { db, accountId, clock } = database
  const before = (await search('messages', true)).length
  const id = newId(clock.now())
  const request = { from: 'hello@example.test', to: [EMAIL], subject: 'Hello', headers: [], attachments: [] }
  await run(db, MESSAGE, [id, accountId, 'example.test', null, JSON.stringify(request), null])
  await run(db, RECIPIENT, [id, accountId, '0', newId(clock.now()), wanted.erased, null])
  expect((await search('messages', true)).length).toBe(before + 1)
})

test('a day with more rows than a batch is searched to its end', async () => {
  const { db, accountId, clock } = database
  const before = (await search('events', true)).length
  await run(
    db,
    `insert into events (id, message_id, account_id, status, recipient, sandbox, created_at)
     select ($1 || lpad(to_hex(n), 12, '0'))::uuid, $2, $3, 'delivered', $4, false, now() from generate_series(1, 2345) n`,
    [newId(clock.now()).slice(0, 24), newId(clock.now()), accountId, EMAIL],
  )
  expect((await search('events', true)).length).toBe(before + 2_345)
})

test('an address in history is found by index', async () => {
  const parameter = (value: string) => `'${value}'`
  for (const { table, candidates } of PLACES.filter(({ candidates }) => candidates)) {
    const [{ name: day = '' } = {}] = (await partsOf(database.db)).filter(({ place }) => place.table === table)
    const plan = await run<{ 'QUERY PLAN': string }>(
      database.db,
      `explain select 1 from ${day} t where (${candidates!(wanted, day, parameter)})`,
    )
    const lines = plan.map((line) => line['QUERY PLAN']).join('\n')
    expect(lines).toMatch(new RegExp(`Bitmap Index Scan on ${table}_\\d{8}_`))
    expect(lines).not.toContain('Seq Scan')
  }
})
