import { expect, test } from 'vitest'
import { eq, sql } from '../../../server/db/drizzle.ts'
import { newId, publicId } from '../../../server/db/ids.ts'
import { openMessages, openRecipients } from '../../../server/db/schema.ts'
import { type Claim, createClaim } from '../../../server/ledger/claim.ts'
import { LEFT_TO_TEMPORAL } from '../../../server/ledger/first-attempts-offer.ts'
import { createMarker } from '../../../server/ledger/marker.ts'
import { sweep } from '../../../server/ledger/sweep.ts'
import { delivered } from '../../../server/sending/outcome.ts'
import { createRecordUntilStored } from '../../../server/sending/until-stored.ts'
import { newClaim } from '../../harness/claim.ts'
import { recipient } from '../../harness/recipient.ts'
import { startApi } from '../api.ts'

const SENT = { tag: 'order', metadata: { order: '1234', 7: 'seven' } }
const api = await startApi()
const first: string = (await api.send({ tenant_id: 'shop-1', ...SENT })).json.message_id
await api.send({ to: ['mailbox_full@simulator.test', 'Delivered@simulator.test'] })
await api.send({ to: 'invalid_address@simulator.test', tenant_id: 'shop-2' })
await api.send({}, { 'x-service-sandbox': 'true' })

const list = (query: string, key?: string) => api.call('GET', `/api/v1/events?${query}`, { key })
const found = async (query: string) =>
  (await list(query)).json.events.map((event: { recipient: string }) => event.recipient.replace('@simulator.test', ''))

test('events are listed newest first with the fields of the contract', async () => {
  const { status, json } = await list('')
  expect(status).toBe(200)
  expect(json.events).toHaveLength(5)
  expect(json.has_more).toBe(false)
  const order = json.events.map((event: { timestamp: string; event_id: string }) => event.timestamp + event.event_id)
  expect(order).toEqual([...order].sort().reverse())
  expect(json.events.at(-1)).toEqual({
    event_id: expect.stringMatching(/^evt_[0-9a-z]{26}$/),
    message_id: first,
    status: 'delivered',
    timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    recipient: 'delivered@simulator.test',
    tenant_id: 'shop-1',
    sandbox: false,
    attempts: 0,
    event: 'email.delivery',
    kind: 'to',
    subject: 'Hello',
    ...SENT,
    smtp: expect.objectContaining({ code: 250, phase: 'dot', mx: expect.any(String) }),
  })
})

test.each([
  ['status=bounced', ['mailbox_full']],
  ['status=rejected', ['invalid_address']],
  ['reason=mailbox_full', ['mailbox_full']],
  ['recipient=MAILBOX_FULL@Simulator.test', ['mailbox_full']],
  ['recipient=Mailbox_f', ['mailbox_full']],
  ['recipient=@simulator.TEST&status=bounced&reason=mailbox_full', ['mailbox_full']],
  ['recipient=@example.org', []],
  ['recipient=delivered@simulator.test&sandbox=false', ['Delivered', 'delivered']],
  ['tenant_id=shop-2', ['invalid_address']],
  ['sandbox=true', ['delivered']],
  ['tag=order', ['delivered']],
  ['tag=orders', []],
  ['event=email.delivery&status=bounced', ['mailbox_full']],
  ['event=email.feedback', []],
  ['status=bounced&reason=spam_blocked', []],
  [`message_id=${publicId('msg', newId(Date.now()))}`, []],
  ['message_id=nonsense', []],
  ['from=2020-01-01T00:00:00Z&to=2020-01-02T00:00:00Z', []],
  ['to=2020-01-02T00:00:00Z', []],
])('filter %s', async (query, recipients) => {
  expect((await found(query)).sort()).toEqual([...recipients].sort())
})

test('an internationalised domain is found in either form', async () => {
  await api.send({ to: 'Bob@bücher.invalid' })
  const forms = ['bob@bücher.invalid', 'BOB@xn--bcher-kva.invalid']
  for (const form of forms) {
    expect(await found(`recipient=${encodeURIComponent(form)}`)).toEqual(['Bob@xn--bcher-kva.invalid'])
  }
})

test('the filter by message returns the events of that message', async () => {
  const { json } = await list(`message_id=${first}`)
  expect(json.events.map((event: { message_id: string }) => event.message_id)).toEqual([first])
  expect((await list(`message_id=${first}&status=bounced`)).json.events).toEqual([])
})

test('metadata has any key that a send may give, also one with a meaning in JavaScript', async () => {
  const metadata = '{"7":"seven","__proto__":"💌","constructor":"x"}'
  const { message_id } = (await api.send({ metadata: JSON.parse(metadata) })).json
  const { text, json } = await list(`message_id=${message_id}`)
  expect(text).toContain(`"metadata":${metadata}`)
  expect((await api.call('GET', `/api/v1/events/${json.events[0].event_id}`)).text).toContain(`"metadata":${metadata}`)
})

test('from is included and to is excluded', async () => {
  const { json } = await list(`message_id=${first}`)
  const at = json.events[0].timestamp
  const next = new Date(Date.parse(at) + 1).toISOString()
  expect((await list(`message_id=${first}&from=${at}&to=${next}`)).json.events).toHaveLength(1)
  expect((await list(`message_id=${first}&to=${at}`)).json.events).toHaveLength(0)
  expect((await list(`message_id=${first}&from=${next}`)).json.events).toHaveLength(0)
})

/** Claims a send that was accepted `agoMs` ago and has no outcome yet. */
async function claimSend(email: string, agoMs = 0): Promise<Claim> {
  const createdAtMs = Date.now() - agoMs
  const claim = newClaim({ accountId: api.world.account.id, tenantId: 'slow', to: [email], createdAtMs })
  await createClaim(api.world.db)(claim)
  return claim
}

const record = (claim: Claim) =>
  createRecordUntilStored(api.world, LEFT_TO_TEMPORAL)(
    {
      claim,
      content: { sizeBytes: 7, digest: 'ab'.repeat(32) },
      outcomes: claim.recipients.map(({ email }) => delivered(recipient(email))),
    },
    performance.now() + 5_000,
  )

test('events are ordered and filtered by their timestamp, whichever send was accepted first', async () => {
  const first = await claimSend('first@example.net', 30_000)
  const second = await claimSend('second@example.net')
  await record(second)
  const listed = await list('tenant_id=slow')
  await record(first)
  expect(await found('tenant_id=slow')).toEqual(['first@example.net', 'second@example.net'])
  const { json } = await list('tenant_id=slow')
  // A listed event does not change.
  expect(json.events.slice(1)).toEqual(listed.json.events)
  const [{ timestamp }] = json.events
  expect(await found(`tenant_id=slow&from=${timestamp}`)).toEqual(['first@example.net'])
  expect(await found(`tenant_id=slow&to=${timestamp}`)).toEqual(['second@example.net'])
})

test('an event that the sweeper settles days after its send is listed first and found by from', async () => {
  const { messageId, claimId } = await claimSend('late@example.net', 86_400_000)
  await createMarker(api.world.db)(messageId, claimId, [0])
  const from = new Date().toISOString()
  const lease = { leaseUntil: sql`now() - interval '1 second'` }
  await api.world.db.update(openMessages).set(lease).where(eq(openMessages.id, messageId))
  await api.world.db.update(openRecipients).set(lease).where(eq(openRecipients.messageId, messageId))
  await sweep(api.world.db)
  expect((await found(''))[0]).toBe('late@example.net')
  expect(await found(`from=${from}`)).toEqual(['late@example.net'])
})

test('pages of one return every event once', async () => {
  const seen: string[] = []
  let cursor = ''
  for (let page = 0; page < 20; page++) {
    const { json } = await list(`limit=1${cursor && `&cursor=${cursor}`}`)
    expect(json.has_more).toBe(json.next_cursor !== undefined)
    seen.push(...json.events.map((event: { event_id: string }) => event.event_id))
    if (!json.has_more) break
    cursor = json.next_cursor
  }
  expect(seen).toEqual((await list('')).json.events.map((event: { event_id: string }) => event.event_id))
})

test.each([
  ['limit=0', 'limit'],
  ['limit=101', 'limit'],
  ['limit=-1', 'limit'],
  ['limit=ten', 'limit'],
  ['status=deliverd', 'status'],
  ['reason=unknown', 'reason'],
  ['sandbox=maybe', 'sandbox'],
  ['from=yesterday', 'from'],
  ['cursor=AAAA', 'cursor'],
  ['cursor=%21%21', 'cursor'],
  ['event=email.opened', 'event'],
  ['event=', 'event'],
  ['tag=', 'tag'],
  ['unknown=1', 'unknown'],
])('400 invalid_payload names the field: %s', async (query, field) => {
  const { status, json } = await list(query)
  expect([status, json.error, json.details?.[0]?.field]).toEqual([400, 'invalid_payload', field])
})

test('a cursor of other filters, or one that was tampered with, is refused', async () => {
  const { next_cursor: cursor } = (await list('limit=1')).json
  expect((await list(`limit=2&cursor=${cursor}`)).status).toBe(200)
  expect((await list(`limit=1&status=bounced&cursor=${cursor}`)).status).toBe(400)
  const changed = cursor.slice(0, 9) + (cursor[9] === 'A' ? 'B' : 'A') + cursor.slice(10)
  expect((await list(`limit=1&cursor=${changed}`)).status).toBe(400)
  for (const added of [`${cursor}x`, `%20${cursor}`, `${cursor}%3D`, `${cursor.slice(0, 9)}%20${cursor.slice(9)}`]) {
    expect((await list(`limit=1&cursor=${added}`)).status).toBe(400)
  }
})

test('another account sees none of these events', async () => {
  expect((await list('', api.keys.stranger)).json.events).toEqual([])
  expect((await list(`message_id=${first}`, api.keys.stranger)).json.events).toEqual([])
})

test("events exist for 90 days by the database's clock", async () => {
  const later = await startApi(() => Date.now() + 90 * 86_400_000 + 60_000)
  const { json } = await later.send()
  expect((await later.call('GET', '/api/v1/events')).json.events).toEqual([])
  expect((await later.call('GET', `/api/v1/emails/${json.message_id}`)).status).toBe(410)
})
