import { randomUUID } from 'node:crypto'
import { createClient } from '@connectrpc/connect'
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from '@connectrpc/connect-node'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { EmailService } from '../../../gen/verdict/v1/emails_pb.ts'
import { createKey } from '../../../server/access/api-keys.ts'
import { eq } from '../../../server/db/drizzle.ts'
import { accounts, breakers, refusedSends, unstoredRefusedSends } from '../../../server/db/schema.ts'
import { createAccount } from '../../../server/directory/accounts.ts'
import { fail } from '../../../server/errors.ts'
import { BREAKER_REFUSED } from '../../../server/reputation/breaker.ts'
import { MOST, RefusedSends } from '../../../server/sending/refused-sends.ts'
import { eventually } from '../../harness/eventually.ts'
import { startApi } from '../api.ts'

// A send that ended with an error before there was an email is listed, with what could be read of it and without a
// value of it; nothing else is.

const api = await startApi()

interface Given {
  protocol: 'rest' | 'connect' | 'grpc' | 'grpc-web'
  isTest: boolean
  sandbox: boolean
  hasKey: boolean
  to: string[]
  from: string
  fault: 'none' | 'unknown field' | 'subject' | 'metadata' | 'header'
}

const SECRET = 'geheim'
const drawn: fc.Arbitrary<Given> = fc.record({
  protocol: fc.constantFrom('rest', 'connect', 'grpc', 'grpc-web'),
  isTest: fc.boolean(),
  sandbox: fc.boolean(),
  hasKey: fc.boolean(),
  to: fc.array(fc.constantFrom('delivered@simulator.test', `Ann ${SECRET} <ann@example.net>`, SECRET, '@', ''), {
    maxLength: 4,
  }),
  from: fc.constantFrom(`${SECRET} <hello@example.test>`, 'hello@other.test', SECRET, ''),
  fault: fc.constantFrom('none', 'none', 'unknown field', 'subject', 'metadata', 'header'),
})

const PARSED: Record<string, string> = {
  'delivered@simulator.test': 'delivered@simulator.test',
  [`Ann ${SECRET} <ann@example.net>`]: 'ann@example.net',
  [`${SECRET} <hello@example.test>`]: 'hello@example.test',
  'hello@other.test': 'hello@other.test',
}

const TRANSPORTS = { connect: createConnectTransport, grpc: createGrpcTransport, 'grpc-web': createGrpcWebTransport }

async function keyOf(accountId: string, kind: 'live' | 'test') {
  const scopes = kind === 'live' ? (['emails.send', 'emails.read'] as const) : (['emails.send'] as const)
  return createKey(api.world.db, api.world.clock, { accountId, name: kind, kind, scopes: [...scopes] })
}

/** Sends over the protocol; returns whether it ended with an error. */
async function send(given: Given, key: string, requestId: string, own: string): Promise<boolean> {
  const { protocol, sandbox, hasKey, from, fault } = given
  const to = [...given.to, `${own}@example.net`]
  const fields = {
    to,
    from,
    subject: fault === 'subject' ? `${SECRET}\u0000` : SECRET,
    text: SECRET,
    metadata: (fault === 'metadata' ? { [`${SECRET} ${SECRET}`]: SECRET } : {}) as Record<string, string>,
  }
  const headers = {
    authorization: `Bearer ${key}`,
    'x-request-id': requestId,
    ...(sandbox && { 'x-service-sandbox': 'true' }),
    ...(hasKey && { 'idempotency-key': requestId }),
    ...(fault === 'header' && { [`x-sandbox-${SECRET}`]: SECRET }),
  }
  if (protocol !== 'rest') {
    const transport = TRANSPORTS[protocol]({ baseUrl: api.url, httpVersion: '2' })
    const client = createClient(EmailService, transport)
    return client.send(fields, { headers }).then(
      () => false,
      () => true,
    )
  }
  const body = { ...fields, ...(fault === 'unknown field' && { [SECRET]: SECRET }) }
  return (await api.call('POST', '/api/v1/emails/send', { key, body, headers })).status >= 400
}

async function listed(key: string, query = '') {
  const { json } = await api.call('GET', `/api/v1/refused-sends?limit=100${query}`, { key })
  return json as { refused_sends: Entry[]; not_stored: number }
}

interface Entry {
  request_id: string
  count: number
  from?: string
  recipients: string[]
  error: string
  status: number
  protocol: string
  fields: string[]
  message: string
}

test('exactly the sends that ended with an error are listed, with what could be read and no other value', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(drawn, { minLength: 10, maxLength: 20 }), async (sends) => {
      const account = await createAccount(api.world.db, api.world.clock, 'Drawn')
      const [live, dry] = [await keyOf(account.id, 'live'), await keyOf(account.id, 'test')]
      const refused: { given: Given; requestId: string; own: string }[] = []
      for (const [i, given] of sends.entries()) {
        const [requestId, own] = [randomUUID(), `own${i}`]
        const isRefused = await send(given, given.isTest ? dry.key : live.key, requestId, own)
        if (isRefused && !given.isTest && !given.sandbox) refused.push({ given, requestId, own })
      }
      await eventually(async () => {
        const { refused_sends: entries, not_stored } = await listed(live.key)
        const byId = new Map(entries.map((entry) => [entry.request_id, entry]))
        expect([...byId.keys()].toSorted()).toEqual(refused.map(({ requestId }) => requestId).toSorted())
        expect(not_stored).toBe(0)
        expect(JSON.stringify(entries)).not.toContain(SECRET)
        for (const { given, requestId, own } of refused) {
          const { to, from, protocol } = given
          const recipients = new Set([...to.flatMap((text) => PARSED[text] ?? []), `${own}@example.net`])
          expect(byId.get(requestId)).toMatchObject({ recipients: [...recipients], protocol, count: 1 })
          expect(byId.get(requestId)!.from).toBe(PARSED[from])
        }
      })
    }),
    { numRuns: 6, endOnFailure: true },
  )
}, 120_000)

test('messages of a batch are listed one by one, and equal refusals of a minute are one entry', async () => {
  const account = await createAccount(api.world.db, api.world.clock, 'Batch')
  const { key } = await keyOf(account.id, 'live')
  const email = { to: 'ann@example.net', from: 'hello@example.test', subject: 'Hi', text: 'Hi' }
  const emails = [
    { ...email, to: 'ann' },
    { ...email, to: 'ann' },
    { ...email, subject: '' },
  ]
  const headers = { 'x-request-id': 'batch-1' }
  await api.call('POST', '/api/v1/emails/batch', { key, headers, body: { emails } })
  await api.call('POST', '/api/v1/emails/batch', { key, headers, body: '{' })
  await eventually(async () => {
    const { refused_sends: entries } = await listed(key)
    const shown = entries.map(({ request_id, error, fields, count }) => ({ request_id, error, fields, count }))
    expect(shown).toHaveLength(3)
    expect(shown).toEqual(
      expect.arrayContaining([
        { request_id: 'batch-1', error: 'invalid_address', fields: ['to'], count: 2 },
        { request_id: 'batch-1', error: 'invalid_payload', fields: ['subject'], count: 1 },
        { request_id: 'batch-1', error: 'invalid_payload', fields: [], count: 1 },
      ]),
    )
  })
  expect((await listed(key, '&error=invalid_address')).refused_sends).toHaveLength(1)
  expect((await listed(key, '&recipient=ann@example.net')).refused_sends).toHaveLength(1)
  expect((await listed(key, '&recipient=@example.net')).refused_sends).toHaveLength(1)
  expect((await listed(key, '&recipient=bob@example.net')).refused_sends).toEqual([])
  expect((await listed(api.keys.stranger)).refused_sends).toEqual([])
})

test('a key without the scope leaves a trace, as does a request over the limit of its account', async () => {
  const { db, clock } = api.world
  const account = await createAccount(db, clock, 'Scope')
  await db.update(accounts).set({ tier: 'free' }).where(eq(accounts.id, account.id))
  const newKey = { accountId: account.id, name: 'reader', kind: 'live', scopes: ['emails.read'] } as const
  const reader = await createKey(db, clock, newKey)
  await api.send({}, {}, reader.key)
  await eventually(async () => expect((await api.send({}, {}, reader.key)).status).toBe(429))
  await eventually(async () => {
    const rows = await db.select().from(refusedSends).where(eq(refusedSends.accountId, account.id))
    expect(new Set(rows.map(({ error, message }) => `${error}: ${message}`))).toEqual(
      new Set([
        'insufficient_scope: The API key lacks the scope emails.send.',
        'rate_limit_exceeded: The requests per minute of the account were used up.',
      ]),
    )
  })
})

test('what the breaker of a domain refuses is listed by that sentence', async () => {
  const { db, account } = api.world
  const domain = 'example.test'
  const base = { baseEmails: 0, baseBounces: 0, baseComplaints: 0 }
  await db
    .insert(breakers)
    .values({ accountId: account.id, domain, state: 'open', cause: 'bounces', changedAt: new Date(), ...base })
  await eventually(async () => expect((await api.send({ to: 'ann@example.net' })).status).toBe(429))
  await db.delete(breakers)
  await eventually(async () => {
    const [entry] = (await listed(api.keys.live, '&error=rate_limit_exceeded')).refused_sends
    expect(entry).toMatchObject({ status: 429, message: BREAKER_REFUSED, recipients: ['ann@example.net'] })
  })
})

/** A refused send of an account to this address. */
const refusedSend = (accountId: string, to: string) => ({
  accountId,
  requestId: to,
  protocol: 'rest' as const,
  error: fail('invalid_address', 'no', { fields: [{ field: 'to', message: 'no' }] }),
  parties: { recipients: [to] },
})

test('processes together store 60 an account and minute and 100 a second, and count the others', async () => {
  const { db, clock } = api.world
  const frozen = { ...clock, now: () => 1_900_000_000_000 }
  const writers = [0, 1].map(() => new RefusedSends({ db, clock: frozen }, (error) => expect.unreachable(`${error}`)))
  const accounts = await Promise.all([0, 1, 2].map((i) => createAccount(db, clock, `Flood ${i}`)))
  for (let i = 0; i < 80; i++) {
    for (const [at, { id: accountId }] of accounts.entries()) {
      writers[(i + at) % 2]!.note(refusedSend(accountId, `r${i}@example.net`))
    }
  }
  await Promise.all(writers.map((writer) => writer.stop()))
  const ids = new Set(accounts.map(({ id }) => id))
  const stored = (await db.select().from(refusedSends)).filter(({ accountId }) => ids.has(accountId))
  const unstored = (await db.select().from(unstoredRefusedSends)).filter(({ accountId }) => ids.has(accountId))
  expect(stored).toHaveLength(MOST.second)
  for (const rows of Map.groupBy(stored, ({ accountId }) => accountId).values())
    expect(rows.length).toBeLessThanOrEqual(MOST.minute)
  expect(unstored.reduce((sum, { sends }) => sum + sends, 0)).toBe(3 * 80 - MOST.second)
})

test('a process counts what others have stored in the same minute', async () => {
  const { db, clock } = api.world
  const { id } = await createAccount(db, clock, 'Minute')
  for (const [at, second] of [0, 2].entries()) {
    const frozen = { ...clock, now: () => 1_900_000_080_000 + second * 1_000 }
    const writer = new RefusedSends({ db, clock: frozen }, (error) => expect.unreachable(`${error}`))
    for (let i = 0; i < 40; i++) writer.note(refusedSend(id, `r${at}-${i}@example.net`))
    await writer.stop()
  }
  expect(await db.$count(refusedSends, eq(refusedSends.accountId, id))).toBe(MOST.minute)
  const unstored = await db.select().from(unstoredRefusedSends).where(eq(unstoredRefusedSends.accountId, id))
  expect(unstored).toMatchObject([{ sends: 80 - MOST.minute }])
})

test('the refusals of one account leave room for those of others in the same second', async () => {
  const { db, clock } = api.world
  const writer = new RefusedSends({ db, clock }, (error) => expect.unreachable(`${error}`))
  const [loud, quiet] = await Promise.all(['Loud', 'Quiet'].map((name) => createAccount(db, clock, name)))
  for (let i = 0; i < 2 * MOST.second; i++) writer.note(refusedSend(loud!.id, `r${i}@example.net`))
  writer.note(refusedSend(quiet!.id, 'ann@example.net'))
  await writer.stop()
  expect(await db.$count(refusedSends, eq(refusedSends.accountId, quiet!.id))).toBe(1)
})

test('the sentence of an entry names the fields of the contract alone', async () => {
  const { db, clock } = api.world
  const account = await createAccount(db, clock, 'Sentences')
  const writer = new RefusedSends({ db, clock }, (error) => expect.unreachable(`${error}`))
  const sentences: [fields: string[], sentence: string][] = [
    [['to[1].email', 'subject', 'to[2]'], 'Not accepted in this form: to, subject.'],
    [['geheim', 'subject'], 'Not accepted in this form: subject.'],
    [['geheim'], 'A field or header does not exist, or has another form.'],
    [[], 'The request could not be read.'],
  ]
  for (const [at, [fields]] of sentences.entries()) {
    const faults = fields.map((field) => ({ field, message: 'no' }))
    const error = fail('invalid_payload', 'geheim', { fields: faults })
    writer.note({ accountId: account.id, requestId: `${at}`, protocol: 'rest', error })
  }
  await writer.stop()
  const rows = await db.select().from(refusedSends).where(eq(refusedSends.accountId, account.id))
  expect(rows.map(({ requestId, message }) => [requestId, message]).sort()).toEqual(
    sentences.map(([, sentence], at) => [`${at}`, sentence]),
  )
})

test('an error without fields has a sentence of its own', async () => {
  const { db, clock } = api.world
  const account = await createAccount(db, clock, 'Reasons')
  const writer = new RefusedSends({ db, clock }, (error) => expect.unreachable(`${error}`))
  const sentences = {
    insufficient_scope: 'The API key lacks the scope emails.send.',
    domain_not_verified: 'The domain of from is not a domain of the account.',
    payload_too_large: 'The request was too large.',
    unsupported_media_type: 'The body was not JSON in UTF-8, or it was compressed.',
    rate_limit_exceeded: 'A limit was used up.',
    transient_failure: 'A fault of the service.',
  }
  for (const reason of Object.keys(sentences) as (keyof typeof sentences)[])
    writer.note({ accountId: account.id, requestId: reason, protocol: 'rest', error: fail(reason, 'geheim') })
  await writer.stop()
  const rows = await db.select().from(refusedSends).where(eq(refusedSends.accountId, account.id))
  expect(Object.fromEntries(rows.map(({ error, message }) => [error, message]))).toEqual(sentences)
})

test('what cannot be written at the end is reported', async () => {
  const { db, clock } = api.world
  const account = await createAccount(db, clock, 'Last rows')
  const reports: unknown[] = []
  const writer = new RefusedSends({ db, clock }, (error) => reports.push(error))
  writer.note({ accountId: account.id, requestId: 'r', protocol: 'rest', error: fail('invalid_payload', 'no') })
  await db.$client.unsafe('alter table refused_sends rename to away')
  await writer.stop()
  await db.$client.unsafe('alter table away rename to refused_sends')
  expect(reports).toHaveLength(1)
})

test('what the database does not take is counted when it takes anything again', async () => {
  const { db, clock } = api.world
  const account = await createAccount(db, clock, 'Refused rows')
  const reports: unknown[] = []
  const writer = new RefusedSends({ db, clock }, (error) => reports.push(error))
  const note = () =>
    writer.note({ accountId: account.id, requestId: 'r', protocol: 'rest', error: fail('invalid_payload', 'no') })
  await db.$client.unsafe('alter table refused_sends rename to away')
  note()
  // One more than there is room for in a minute.
  for (let i = 0; i < MOST.minute; i++) writer.note(refusedSend(account.id, `r${i}@example.net`))
  await eventually(() => expect(reports.length).toBeGreaterThan(0))
  await db.$client.unsafe('alter table away rename to refused_sends')
  note()
  await writer.stop()
  const { key } = await keyOf(account.id, 'live')
  expect(await listed(key)).toMatchObject({ refused_sends: [{ count: 1 }], not_stored: MOST.minute + 1 })
})
