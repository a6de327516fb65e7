import { randomUUID } from 'node:crypto'
import { beforeEach, expect, test } from 'vitest'
import { createKey } from '../../../server/access/api-keys.ts'
import { SCOPES_OF } from '../../../server/access/scopes.ts'
import { newId, parsePublicId, publicId } from '../../../server/db/ids.ts'
import { run } from '../../../server/db/statement.ts'
import { createAccount } from '../../../server/directory/accounts.ts'
import { createDomain } from '../../../server/domains/domains.ts'
import { mx } from '../../harness/dns.ts'
import type { Script } from '../../harness/smtp-script.ts'
import { startApi } from '../api.ts'

// `retry_of` through the API: what may be retried, by whom, and once.

const DAY_MS = 86_400_000

const api = await startApi()
const { zone } = api.world.dns
zone['MX other.org'] = [mx('other.org', 10, 'mx.example.net')]
const { db, sealer, clock, account } = api.world
await createDomain({ db, sealer, clock }, { accountId: account.id, name: 'second.test', status: 'verified' })
beforeEach(async () => {
  script({})
  senders.length = 0
  api.world.exchanger.messages.length = 0
  await run(api.world.db, 'truncate suppressions, refusals')
})

/** The MAIL commands that the exchanger has received in this test. */
const senders: string[] = []
function script(script: Script): void {
  api.world.exchanger.script = { mail: (line) => void senders.push(line), ...script }
}

const GREYLISTED = '451 4.7.1 Greylisted, try again later'

/** Sends a message whose recipients, or those that `which` matches, are refused for now. Returns its id. */
async function refusedForNow(change: object = {}, which = /./): Promise<string> {
  script({ rcpt: (line) => (which.test(line) ? GREYLISTED : undefined) })
  const { json } = await api.send({ to: 'ann@example.net', ...change })
  script({})
  expect(json.status).toBe('bounced')
  return json.message_id
}

const retry = (retry_of: string, change: object = {}, headers: Record<string, string> = {}, key?: string) =>
  api.send({ to: 'ann@example.net', retry_of, ...change }, headers, key)
const email = async (id: string) => (await api.call('GET', `/api/v1/emails/${id}`)).json
const faultOf = ({ status, json }: { status: number; json: { error: string; details?: { field: string }[] } }) => [
  status,
  json.error,
  json.details?.map(({ field }) => field),
]
const INVALID = (...fields: string[]) => [400, 'invalid_payload', fields]
const retriesOf = async (id: string) =>
  (await run(api.world.db, 'select from retries where retried_id = $1', [parsePublicId('msg', id)!])).count

test('a retry keeps the envelope sender of the first message, and Get email shows the chain', async () => {
  const first = await refusedForNow()
  script({ rcpt: GREYLISTED })
  const { json: second } = await retry(first)
  script({})
  const { json: third } = await retry(second.message_id)
  expect([second.status, second.retryable, third.status]).toEqual(['bounced', true, 'delivered'])
  expect(new Set(senders).size).toBe(1)
  expect(senders).toHaveLength(3)
  expect(api.world.exchanger.messages[0]!.content).toContain(`Message-ID: <${third.message_id}@`)
  const chain = await Promise.all([first, second.message_id, third.message_id].map(email))
  expect(chain.map(({ retry_of, retried_by }) => [retry_of, retried_by])).toEqual([
    [undefined, [second.message_id]],
    [first, [third.message_id]],
    [second.message_id, undefined],
  ])
})

test('each recipient domain keeps its own envelope sender, whichever of its recipients are retried', async () => {
  const to = ['zoe@other.org', 'ann@example.net', 'bob@example.net', 'cy@other.org']
  const first = await refusedForNow({ to }, /bob|cy/)
  const ofFirst = new Set(senders.splice(0))
  const { json } = await retry(first, { to: ['bob@example.net'], cc: ['cy@other.org'] })
  expect(json.status).toBe('delivered')
  expect(ofFirst.size).toBe(2)
  expect(new Set(senders)).toEqual(ofFirst)
  const fromOf = (address: string) => api.world.exchanger.messages.find(({ to }) => to.includes(address))!.from
  expect(fromOf('bob@example.net')).toMatch(/^b\+[0-9a-z]{26}01/)
  expect(fromOf('cy@other.org')).toMatch(/^b\+[0-9a-z]{26}00/)
  expect((await email(first)).retried_by).toEqual([json.message_id])
})

test('each retry of a chain keeps the envelope sender that its domain had in the first message', async () => {
  const first = await refusedForNow({ to: ['ann@example.net', 'bob@other.org'] }, /bob@/)
  const ofFirst = new Set(senders.splice(0))
  script({ rcpt: GREYLISTED })
  const { json: second } = await retry(first, { to: 'bob@other.org' })
  const [ofBob] = senders.splice(0)
  script({})
  expect((await retry(second.message_id, { to: 'bob@other.org' })).json.status).toBe('delivered')
  expect([ofFirst.has(ofBob!), ofFirst.size]).toEqual([true, 2])
  expect(senders).toEqual([ofBob])
})

test('an unknown message and one of another account are the same 400', async () => {
  const { db, clock, sealer } = api.world
  const stranger = await createAccount(db, clock, 'Second stranger')
  const named = { accountId: stranger.id, name: 'test', kind: 'live', scopes: SCOPES_OF.live } as const
  const { key } = await createKey(db, clock, named)
  await createDomain({ db, sealer, clock }, { accountId: stranger.id, name: 'stranger.test', status: 'verified' })
  const own = await refusedForNow()
  const unknown = publicId('msg', newId(clock.now()))
  const answers = []
  for (const id of [own, unknown]) answers.push(await retry(id, { from: 'a@stranger.test' }, {}, key))
  const [ofOther, ofNone] = answers.map(({ status, json: { request_id: _, ...rest } }) => ({ status, ...rest }))
  expect(ofOther).toEqual(ofNone)
  expect(faultOf(answers[0]!)).toEqual(INVALID('retry_of'))
  expect(answers[0]!.json.message).toBe('retry_of names no message of this account whose send has ended.')
})

test.each([
  ['an empty text', ''],
  ['an event', publicId('evt', newId(Date.now()))],
  ['a UUID', randomUUID()],
  ['upper case', publicId('msg', newId(Date.now())).toUpperCase()],
  ['too long a text', `msg_${'0'.repeat(27)}`],
])('retry_of is refused when it is %s', async (_, id) => {
  const answer = await retry(id)
  expect(faultOf(answer)).toEqual(INVALID('retry_of'))
  expect(answer.json.message).toContain('must be a message_id')
})

test('all faults of a retry are reported at once, each with its way out', async () => {
  const first = await refusedForNow({ tenant_id: 'shop-1' })
  const answer = await retry(first, { from: 'a@second.test', to: ['zoe@example.net'], cc: ['ann@example.net'] })
  expect(faultOf(answer)).toEqual(INVALID('from', 'tenant_id', 'to'))
  expect(answer.json.message).toBe(
    `from must keep the domain of ${first}, example.test, to retry it; ` +
      `tenant_id must be "shop-1", as in ${first}, to retry it; ` +
      `to holds zoe@example.net, which is no recipient of ${first}.`,
  )
  const other = await retry(await refusedForNow(), { tenant_id: 'shop-1' })
  expect(faultOf(other)).toEqual(INVALID('tenant_id'))
  const { json } = await retry(first, { tenant_id: 'shop-1', from: 'Other <other@example.test>' })
  expect(json.status).toBe('delivered')
})

test.each([
  ['delivered', undefined, 'is not retryable: delivered'],
  ['a final bounce', { rcpt: '550 5.1.1 No such user' }, 'is not retryable: bounced/mailbox_does_not_exist'],
  ['in doubt', { dot: 'close' as const }, 'it ended in doubt, and is never retried'],
])('a recipient whose outcome is %s is refused', async (_, replies, words) => {
  script(replies ?? {})
  const { json } = await api.send({ to: 'ann@example.net' })
  script({})
  const answer = await retry(json.message_id)
  expect(faultOf(answer)).toEqual(INVALID('to'))
  expect(answer.json.message).toContain(words)
})

test('a recipient is retried once, and the second 400 names the message that did it', async () => {
  const first = await refusedForNow({ to: ['ann@example.net', 'bob@example.net', 'cy@example.net'] })
  const { json: second } = await retry(first, { to: 'bob@example.net' })
  const again = await retry(first, { to: ['ann@example.net', 'bob@example.net'] })
  expect(faultOf(again)).toEqual(INVALID('to'))
  expect(again.json.message).toBe(
    `to holds bob@example.net, which ${second.message_id} has retried: retry that one, if it is retryable.`,
  )
  expect((await retry(first, { to: 'ann@example.net' })).json.status).toBe('delivered')
  expect((await email(first)).retried_by).toHaveLength(2)
})

test('of concurrent retries of one recipient exactly one is sent, the others name it', async () => {
  const first = await refusedForNow({ to: ['ann@example.net', 'bob@example.net'] })
  const answers = await Promise.all(
    Array.from({ length: 12 }, (_, i) =>
      retry(first, { to: i % 2 ? ['ann@example.net', 'bob@example.net'] : 'ann@example.net' }),
    ),
  )
  const sent = answers.filter(({ status }) => status === 200)
  expect(sent).toHaveLength(1)
  for (const answer of answers.filter(({ status }) => status !== 200)) {
    expect(faultOf(answer)[0]).toBe(400)
    expect(answer.json.message).toContain(`${sent[0]!.json.message_id} has retried`)
  }
  expect(api.world.exchanger.messages).toHaveLength(1)
})

test('of two messages of a batch that retry one recipient one is sent; the other ends with the error', async () => {
  const first = await refusedForNow()
  const item = { to: 'ann@example.net', from: 'hello@example.test', subject: 'Hello', text: 'Hi', retry_of: first }
  const headers = { 'idempotency-key': 'batch-of-retries' }
  const { json } = await api.call('POST', '/api/v1/emails/batch', { body: { emails: [item, item] }, headers })
  expect(json.summary).toMatchObject({ delivered: 1, failed: 1 })
  const [sent] = json.results.filter(({ status }: { status?: string }) => status)
  const [failed] = json.results.filter(({ error }: { error?: string }) => error)
  expect([failed.error, failed.details[0].field]).toEqual(['invalid_payload', 'to'])
  expect(failed.message).toContain(`${sent.message_id} has retried`)
  const repeat = await api.call('POST', '/api/v1/emails/batch', { body: { emails: [item, item] }, headers })
  expect(repeat.json).toEqual(json)
})

test('a retry with an idempotency key: each repeat gets the first response, also while it runs', async () => {
  const first = await refusedForNow()
  const release = Promise.withResolvers<void>()
  script({ dot: { after: release.promise, act: '250 2.0.0 Ok' } })
  const headers = { 'idempotency-key': 'retry-1' }
  const running = [retry(first, {}, headers), retry(first, {}, headers)]
  release.resolve()
  const answers = [...(await Promise.all(running)), await retry(first, {}, headers)]
  expect(new Set(answers.map(({ json }) => json.message_id)).size).toBe(1)
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
  expect(await retriesOf(first)).toBe(1)
  const other = await retry(first, {}, { 'idempotency-key': 'retry-2' })
  expect(faultOf(other)).toEqual(INVALID('to'))
})

test('a retry that ends without SMTP takes the recipient, too', async () => {
  const first = await refusedForNow()
  await api.call('POST', '/api/v1/suppression', { body: { email: 'ann@example.net' } })
  const { json: second } = await retry(first)
  expect(second).toMatchObject({ status: 'rejected', reason: 'suppression_list' })
  expect((await retry(first)).json.message).toContain(`${second.message_id} has retried`)
  const next = await retry(second.message_id)
  expect(next.json.message).toContain('is not retryable: rejected/suppression_list')
})

test('of concurrent retries that end without SMTP exactly one is stored', async () => {
  const first = await refusedForNow()
  await api.call('POST', '/api/v1/suppression', { body: { email: 'ann@example.net' } })
  const answers = await Promise.all(Array.from({ length: 8 }, () => retry(first)))
  expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(7).fill(400)])
})

test('a dry run checks a retry of a dry run and takes nothing; the modes do not mix', async () => {
  const live = await refusedForNow()
  const dry = { 'x-service-sandbox': 'true' }
  const { json: first } = await api.send({ to: 'temporary_failure@simulator.test' }, dry)
  expect(first.retryable).toBe(true)
  const again = { to: 'temporary_failure@simulator.test' }
  for (const _ of [1, 2]) expect((await retry(first.message_id, again, dry)).json).toMatchObject({ sandbox: true })
  expect((await retry(first.message_id, again, {}, api.keys.test)).json).toMatchObject({ sandbox: true })
  const validated = await api.call('POST', '/api/v1/emails/validate', {
    body: { ...again, from: 'hello@example.test', subject: 'Hello', text: 'Hi', retry_of: first.message_id },
  })
  expect(validated.json).toMatchObject({ sandbox: true, retryable: true })
  expect((await email(validated.json.message_id)).retry_of).toBe(first.message_id)
  expect(await retriesOf(first.message_id)).toBe(0)
  const mixed = [await retry(live, {}, dry), await retry(first.message_id, again)]
  expect(mixed.map(faultOf)).toEqual([INVALID('retry_of'), INVALID('retry_of')])
  expect(mixed.map(({ json }) => json.message)).toEqual([
    expect.stringContaining('names a live message'),
    expect.stringContaining('names a dry run'),
  ])
  expect((await retry(live)).json.status).toBe('delivered')
})

test('a chain ends 7 days after its first message', async () => {
  const first = await refusedForNow()
  script({ rcpt: GREYLISTED })
  const { json: second } = await retry(first)
  script({})
  const { db } = api.world
  // Ages the first message: history never changes, and the chain knows it by its id alone.
  const aged = newId(api.world.clock.now() - 7 * DAY_MS - 1_000)
  await run(db, 'update retries set first_id = $1 where message_id = $2', [
    aged,
    parsePublicId('msg', second.message_id)!,
  ])
  const answer = await retry(second.message_id)
  expect(faultOf(answer)).toEqual(INVALID('retry_of'))
  expect(answer.json.message).toContain('7 days ago: send a new message without retry_of')
  const justInTime = newId(api.world.clock.now() - 7 * DAY_MS + 60_000)
  await run(db, 'update retries set first_id = $1 where message_id = $2', [
    justInTime,
    parsePublicId('msg', second.message_id)!,
  ])
  expect((await retry(second.message_id)).json.status).toBe('delivered')
})
