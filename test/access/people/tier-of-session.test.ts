import { createClient, createServiceImplSpec } from '@connectrpc/connect'
import { createConnectTransport } from '@connectrpc/connect-node'
import { expect, test } from 'vitest'
import { EmailService } from '../../../gen/verdict/v1/emails_pb.ts'
import { LimitsService } from '../../../gen/verdict/v1/limits_pb.ts'
import { createKey } from '../../../server/access/api-keys.ts'
import { DEFAULT_LIMITS } from '../../../server/config/limits.ts'
import { createAccount, setTier } from '../../../server/directory/accounts.ts'
import { createLimitsService } from '../../../server/services/limits.ts'
import { testAccount } from '../../harness/account.ts'
import { startDashboard } from '../../harness/person.ts'

// Sends with a session count for the account's tier, as sends with a key do.

const LIMIT = 3
const LIMITS = {
  ...DEFAULT_LIMITS,
  tiers: { ...DEFAULT_LIMITS.tiers, small: { requestsPerMinute: LIMIT } },
  defaultTier: 'small',
}

let sends = 0

const world = await testAccount()
const { db, clock } = world
const send = async () => {
  sends++
  return {}
}
const dashboard = await startDashboard({
  db,
  clock,
  limits: LIMITS,
  publicServices: [
    createServiceImplSpec<typeof EmailService>(EmailService, { send, validate: send, sendBatch: send }),
    createServiceImplSpec<typeof LimitsService>(LimitsService, createLimitsService({ db, limits: LIMITS })),
  ],
})

async function newAccount(role: 'reader' | 'member' = 'member') {
  const { db, clock } = world
  const { id } = await createAccount(db, clock, 'Test')
  const { key } = await createKey(db, clock, { accountId: id, name: 'k', kind: 'live', scopes: ['emails.send'] })
  const { headers } = await dashboard.person({ accountId: id, role })
  sends = 0
  const bySession = (method: string, body: string | Uint8Array<ArrayBuffer> = '{}', more = {}) =>
    fetch(`${dashboard.url}/verdict.v1.${method}`, { method: 'POST', headers: { ...headers, ...more }, body })
  const byKey = () =>
    fetch(`${dashboard.url}/api/v1/emails/send`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: '{}',
    })
  return { id, key, headers, bySession, byKey }
}

const rateOf = ({ headers }: Response) => ['limit', 'remaining'].map((name) => headers.get(`x-ratelimit-${name}`))

test('every method that sends takes a request of the tier when a session calls it, in JSON and in binary', async () => {
  const { bySession } = await newAccount()
  const answers = [
    await bySession('EmailService/Send'),
    await bySession('EmailService/Validate'),
    await bySession('EmailService/SendBatch', new Uint8Array(), { 'content-type': 'application/proto' }),
  ]
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
  expect(answers.map(rateOf)).toEqual([
    ['3', '2'],
    ['3', '1'],
    ['3', '0'],
  ])
  const over = await bySession('EmailService/Send')
  expect(over.status).toBe(429)
  expect(rateOf(over)).toEqual(['3', '0'])
  expect(Number(over.headers.get('retry-after'))).toBeGreaterThan(0)
  expect(await over.json()).toMatchObject({
    code: 'resource_exhausted',
    message: expect.stringMatching(/^The 3 requests per minute of this account are used up\. Wait \d+ seconds?\.$/),
  })
  expect(sends).toBe(3)
})

test('sends with a session and with a key share the requests of the account, at the same moment too', async () => {
  const { bySession, byKey } = await newAccount()
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, i) => (i % 2 === 0 ? bySession('EmailService/Send') : byKey())),
  )
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(LIMIT)
  expect(answers.filter(({ status }) => status === 429)).toHaveLength(20 - LIMIT)
  expect(sends).toBe(LIMIT)
})

test('a send that a reader may not make counts, as one with a key without the scope does', async () => {
  const { bySession, byKey } = await newAccount('reader')
  for (let i = 0; i < LIMIT; i++) expect((await bySession('EmailService/Send')).status).toBe(403)
  expect((await byKey()).status).toBe(429)
  expect(sends).toBe(0)
})

test('a send for an account that the person does not belong to takes none of its requests', async () => {
  const [own, other] = [await newAccount(), await newAccount()]
  const account = { 'verdict-account': other.headers['verdict-account']! }
  for (let i = 0; i < LIMIT; i++) expect((await own.bySession('EmailService/Send', '{}', account)).status).toBe(404)
  expect((await other.byKey()).status).toBe(200)
})

test('a page whose account has used up its requests is served on', async () => {
  const { headers, byKey } = await newAccount()
  for (let i = 0; i < LIMIT + 1; i++) await byKey()
  const transport = createConnectTransport({ baseUrl: dashboard.url, httpVersion: '1.1' })
  const own = { headers: { cookie: headers.cookie!, 'verdict-account': headers['verdict-account']! } }
  expect(await createClient(LimitsService, transport).getLimits({}, own)).toMatchObject({ requestsPerMinute: LIMIT })
})

test('a new tier holds at the next send with a session', async () => {
  const { id, bySession } = await newAccount()
  for (let i = 0; i < LIMIT; i++) await bySession('EmailService/Send')
  expect((await bySession('EmailService/Send')).status).toBe(429)
  await setTier(world.db, id, 'pro')
  const answer = await bySession('EmailService/Send')
  expect([answer.status, ...rateOf(answer)]).toEqual([200, '600', '595'])
})
