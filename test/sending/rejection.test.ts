import { create } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { expect, test } from 'vitest'
import { DeliveryStatus, Reason, RecipientOutcomeSchema, SuppressionScope } from '../../gen/verdict/v1/outcomes_pb.ts'
import { createDomain } from '../../server/domains/domains.ts'
import { explain } from '../../server/sending/rejection.ts'
import { startApi } from '../services/api.ts'

const api = await startApi()
const { db, sealer, clock, account } = api.world
await createDomain({ db, sealer, clock }, { accountId: account.id, name: 'pending.test', status: 'pending' })
Object.assign(api.world.dns.zone, {
  'MX nullmx.org': [{ type: 'MX', name: 'nullmx.org', ttl: 60, data: { preference: 0, exchange: '.' } }],
  'MX private.org': [{ type: 'MX', name: 'private.org', ttl: 60, data: { preference: 0, exchange: 'mx.private.org' } }],
  'A mx.private.org': [{ type: 'A', name: 'mx.private.org', ttl: 60, data: '10.0.0.1' }],
  'AAAA mx.private.org': 'nodata',
})
await api.call('POST', '/api/v1/suppression', { body: { email: 'gone@example.net' } })

test.each([
  ['a domain that is not verified', { from: 'a@pending.test' }, /^pending\.test is not a verified .*domains lists/],
  ['a special-use domain', { to: 'ann@printer.local' }, /^printer\.local is under a special-use top-level domain/],
  ['a null MX', { to: 'ann@nullmx.org' }, /^nullmx\.org can never be mailed: .*null MX\)\.$/],
  [
    'private mail servers',
    { to: 'ann@private.org' },
    /^private\.org can never be mailed: .*no public mail exchanger\.$/,
  ],
  [
    'a suppressed address',
    { to: 'gone@example.net' },
    /^gone@example\.net has been on .*this account since 20.*DELETE/,
  ],
  ['a simulated suppression', { to: 'suppression_list@simulator.test' }, /is suppressed\.$/],
  ['a simulated address', { to: 'invalid_address@simulator.test' }, /is never mailed\.$/],
])('a live rejection for %s says why: at once, in a repeat, in a batch and read back', async (name, change, why) => {
  const headers = { 'idempotency-key': name }
  const { json: sent, text } = await api.send(change, headers)
  expect(sent).toMatchObject({ status: 'rejected', detail: expect.stringMatching(why) })
  expect((await api.send(change, headers)).text).toBe(text)
  const { json: stored } = await api.call('GET', `/api/v1/emails/${sent.message_id}`)
  expect(stored.recipients).toMatchObject([{ status: 'rejected', detail: sent.detail }])
  const message = {
    to: 'delivered@simulator.test',
    from: 'hello@example.test',
    subject: 'Hello',
    text: 'Hi',
    ...change,
  }
  const { json: batch } = await api.call('POST', '/api/v1/emails/batch', { body: { emails: [message] } })
  expect(batch.results).toMatchObject([{ status: 'rejected', detail: expect.stringMatching(why) }])
})

test('with several recipients each rejection has a detail, and no other outcome has one', async () => {
  const { json } = await api.send({ to: ['delivered@simulator.test', 'suppression_list@simulator.test'] })
  expect(json.detail).toBeUndefined()
  expect(json.recipients.map(({ detail }: { detail?: string }) => detail)).toEqual([
    undefined,
    'suppression_list@simulator.test is suppressed.',
  ])
})

test.each([
  ['gone@example.net', 'suppression', 'the address is on a suppression list'],
  ['suppression_list@simulator.test', 'suppression', 'this simulator address is suppressed'],
  ['invalid_address@simulator.test', 'address', 'this simulator address is never mailed'],
  ['ann@printer.local', 'address', 'printer.local is under a special-use top-level domain'],
])('a dry run says which check %s does not pass', async (to, name, detail) => {
  const { json } = await api.send({ to }, { 'x-service-sandbox': 'true' })
  expect(json.checks.at(-1)).toEqual({ name, passed: false, detail })
})

const { UNSPECIFIED, ACCOUNT, GLOBAL, TENANT } = SuppressionScope
const OF_THE_CALLER = 'DELETE /api/v1/suppression/{email} removes it.'

test.each([
  [UNSPECIFIED, 'a suppression list', OF_THE_CALLER],
  [GLOBAL, 'the suppression list for everyone who sends through this service', 'Only the operator can remove it.'],
  [ACCOUNT, 'the suppression list of this account', OF_THE_CALLER],
  [TENANT, 'the suppression list of this tenant', OF_THE_CALLER],
])('the detail of a suppressed address names its list, and who can remove it from there: %i', (scope, list, wayOut) => {
  const outcome = create(RecipientOutcomeSchema, {
    email: 'gone@example.net',
    status: DeliveryStatus.REJECTED,
    reason: Reason.SUPPRESSION_LIST,
    suppression: { scope, since: timestampFromMs(0) },
  })
  expect(explain(outcome, 'example.test').detail).toBe(
    `gone@example.net has been on ${list} since 1970-01-01T00:00:00.000Z. ${wayOut}`,
  )
})

test('an address under a real domain is never called one of a special-use domain', () => {
  const outcome = create(RecipientOutcomeSchema, {
    email: 'ann@example.net',
    status: DeliveryStatus.REJECTED,
    reason: Reason.INVALID_ADDRESS,
  })
  expect(explain(outcome, 'example.test').detail).toBe('ann@example.net is never mailed.')
})

test('a message of a release that stored no domain of From says what was not verified', () => {
  const outcome = create(RecipientOutcomeSchema, {
    email: 'ann@example.net',
    status: DeliveryStatus.REJECTED,
    reason: Reason.DOMAIN_NOT_VERIFIED,
  })
  expect(explain(outcome, '').detail).toMatch(/^The From domain is not a verified domain of this account\./)
})
