import { createClient } from '@connectrpc/connect'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { EventService } from '../../../gen/verdict/v1/events_pb.ts'
import { FeedbackKind } from '../../../gen/verdict/v1/outcomes_pb.ts'
import { eq } from '../../../server/db/drizzle.ts'
import { publicId } from '../../../server/db/ids.ts'
import { openDispatches } from '../../../server/db/schema.ts'
import { createFeedback } from '../../../server/inbound/feedback.ts'
import type { Report } from '../../../server/inbound/report.ts'
import { startReceiver } from '../../harness/receiver.ts'
import { PROTOCOLS, TRANSPORTS } from '../../harness/transports.ts'
import { untilEnd } from '../../harness/until-end.ts'
import { script } from '../../sending/world.ts'
import { startApi, uuidOf } from '../api.ts'

// Late bounces and complaints as events: listed, pushed to endpoints that ask for them, and replayed.

const api = await startApi()
const receiver = untilEnd(await startReceiver())
beforeEach(() => {
  receiver.requests.length = 0
  api.workflows.started.length = 0
})
afterEach(() => api.call('DELETE', '/api/v1/webhook'))

const setEndpoint = (lists: object = {}) =>
  api.call('PUT', '/api/v1/webhook', { body: { url: receiver.url, ...lists } })
const list = async (query: string) => (await api.call('GET', `/api/v1/events?${query}`)).json.events
const follow = async (query: string) => {
  const { events } = (await api.call('GET', `/api/v1/events/changes?after=begin&${query}`)).json
  return events.map((change: { event: object }) => change.event)
}
const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)

const DETAIL = '550 5.1.1 <ann@example.net>: no such user'
const QUOTED = { code: 550, enhanced: '5.1.1', reply: '5.1.1 <ann@example.net>: no such user', words: 'no such user' }
/** How the report was read, as events show it. */
const READ = { ...QUOTED, decided_by: 'words' }
const bounceOf = (email: string): Report => ({
  kind: 'bounce',
  failures: [
    {
      ...QUOTED,
      addresses: [email],
      reason: 'mailbox_does_not_exist',
      readAs: 'mailbox (unknown)',
      kind: 'unknown',
      decidedBy: 'words',
      detail: DETAIL,
    },
  ],
})
const complaintOf = (email: string): Report => ({ kind: 'complaint', type: 'abuse', addresses: [email] })
const keep = (messageId: string, report: Report) =>
  createFeedback({ db: api.world.db, clock: api.world.clock })({ messageId: uuidOf(messageId), position: 0 }, report)

const SENT = { tag: 'orders', metadata: { 10: 'ten', 9: '💌', b: 'x' }, tenant_id: 'shop-1' }
/** Each test mails its own address, because an address that bounced is suppressed. */
let sends = 0
async function sendTo(change: object = {}) {
  const email = `ann${++sends}@example.net`
  const { json } = await api.send({ to: email, ...SENT, ...change })
  expect(json.status).toBe('delivered')
  return { messageId: json.message_id as string, email }
}

const dispatchesOf = async (eventId: string) =>
  (await api.call('GET', `/api/v1/events/${eventId}`)).json.dispatches as { dispatch_id: string; kind: string }[]
const deliver = (dispatchId: string) => api.attemptOnce({ dispatchId: uuidOf(dispatchId), number: 1 })

test('a late bounce and a complaint are events of their message, and its outcome stays as it was', async () => {
  const { messageId, email } = await sendTo()
  const before = (await api.call('GET', `/api/v1/emails/${messageId}`)).json
  expect(await keep(messageId, bounceOf(email))).toBe('kept')
  expect(await keep(messageId, complaintOf(email))).toBe('kept')
  const [complaint, bounce, outcome] = await list(`message_id=${messageId}`)
  const common = { message_id: messageId, status: 'delivered', timestamp: TIME, recipient: email, sandbox: false }
  const unsent = { event_id: expect.stringMatching(/^evt_/), attempts: 0, event: 'email.feedback', kind: 'to' }
  const late = { phase: 'late', tls: null, duration_ms: 0 }
  const complained = { feedback: 'complaint', detail: 'abuse', smtp: { ...late, decided_by: 'report' } }
  expect(complaint).toEqual({ ...common, ...unsent, ...SENT, subject: 'Hello', ...complained })
  const read = { ...READ, read_as: 'mailbox (unknown)' }
  const bounced = {
    feedback: 'late_bounce',
    reason: 'mailbox_does_not_exist',
    detail: DETAIL,
    smtp: { ...late, ...read },
  }
  expect(bounce).toEqual({ ...common, ...unsent, ...SENT, subject: 'Hello', ...bounced })
  expect(outcome).toMatchObject({ ...common, ...SENT, event: 'email.delivery', smtp: { code: 250 } })
  expect((await api.call('GET', `/api/v1/events/${bounce.event_id}`)).json).toEqual({ ...bounce, dispatches: [] })
  const { feedback, ...after } = (await api.call('GET', `/api/v1/emails/${messageId}`)).json
  expect({ ...after, feedback: [] }).toEqual(before)
  expect(feedback).toMatchObject([
    { kind: 'late_bounce', reported_at: bounce.timestamp, evidence: { kind: 'unknown', ...read, phase: 'late' } },
    { kind: 'complaint', reported_at: complaint.timestamp, evidence: { kind: 'complaint', decided_by: 'report' } },
  ])
})

test('a report that comes twice makes one event and one dispatch', async () => {
  await setEndpoint({ events: ['email.feedback'] })
  const { messageId, email } = await sendTo()
  const results = await Promise.all([1, 2, 3].map(() => keep(messageId, bounceOf(email))))
  expect(results.sort()).toEqual(['kept', 'known', 'known'])
  expect(await list(`message_id=${messageId}&event=email.feedback`)).toHaveLength(1)
  expect(await api.world.db.$count(openDispatches, eq(openDispatches.messageId, uuidOf(messageId)))).toBe(1)
})

test('feedback has the status and the kind of its recipient; filters find it by kind, tag and status', async () => {
  script(api.world, { dot: 'close' })
  const email = 'doubtful@example.net'
  const { message_id } = (await api.send({ to: 'a@example.net', cc: email, tag: 'doubts' })).json
  script(api.world, {})
  await keep(message_id, bounceOf(email))
  const [event] = await list('event=email.feedback&tag=doubts')
  expect(event).toMatchObject({ recipient: email, status: 'bounced', kind: 'cc', feedback: 'late_bounce' })
  expect(event).not.toHaveProperty('in_doubt')
  expect(await list('event=email.feedback&tag=doubts&status=delivered')).toEqual([])
  expect(await list('feedback=late_bounce&tag=doubts')).toEqual([event])
  expect(await list('feedback=complaint&tag=doubts')).toEqual([])
  expect(await list('feedback=late_bounce&event=email.delivery&tag=doubts')).toEqual([])
  expect(await api.call('GET', '/api/v1/events?feedback=anger')).toMatchObject({ status: 400 })
  const { subject: _, ...streamed } = event
  // A change is shown when every transaction that began before it is over.
  await expect.poll(() => follow('feedback=late_bounce&tag=doubts')).toEqual([streamed])
  expect(await follow('feedback=complaint&tag=doubts')).toEqual([])
  expect(await follow('feedback=late_bounce&event=email.delivery&tag=doubts')).toEqual([])
  expect(await api.call('GET', '/api/v1/events/changes?feedback=anger')).toMatchObject({ status: 400 })
  const outcomes = await list('event=email.delivery&tag=doubts')
  expect(outcomes).toMatchObject([{ in_doubt: true }, { in_doubt: true }])
})

test.each(PROTOCOLS)('the stream has late bounces alone, or complaints alone, by %s', async (protocol) => {
  const { messageId, email } = await sendTo({ tag: `stream-${protocol}` })
  await keep(messageId, bounceOf(email))
  await keep(messageId, complaintOf(email))
  const events = createClient(EventService, TRANSPORTS[protocol]({ baseUrl: api.url, httpVersion: '2' }))
  const headers = { authorization: `Bearer ${api.keys.live}` }
  for (const feedback of [FeedbackKind.LATE_BOUNCE, FeedbackKind.COMPLAINT]) {
    const ended = new AbortController()
    const call = { headers, signal: ended.signal }
    const request = { after: 'begin', tag: `stream-${protocol}`, feedback }
    for await (const message of events.streamEvents(request, call)) {
      if (message.events.length === 0) continue
      expect(message.events.map(({ event }) => event)).toMatchObject([{ messageId, feedback }])
      break
    }
    ended.abort()
  }
})

test('an endpoint gets feedback only when it asks for it, and for the status', async () => {
  for (const [lists, kinds] of [
    [{}, ['email.delivery']],
    [{ events: ['email.delivery', 'email.feedback'] }, ['email.feedback', 'email.delivery']],
    [{ events: ['email.feedback'] }, ['email.feedback']],
    [{ events: ['email.delivery', 'email.feedback'], statuses: ['bounced', 'rejected'] }, []],
  ] as const) {
    await setEndpoint(lists)
    const { messageId, email } = await sendTo()
    await keep(messageId, bounceOf(email))
    const events = await list(`message_id=${messageId}`)
    const pushed: string[] = []
    for (const { event_id, event } of events) {
      if ((await dispatchesOf(event_id)).length > 0) pushed.push(event)
    }
    expect([lists, pushed]).toEqual([lists, kinds])
    await api.call('DELETE', '/api/v1/webhook')
  }
})

test('of a message with several outcomes the endpoint gets those with a status that it asks for', async () => {
  await setEndpoint({ statuses: ['bounced'] })
  const to = ['delivered@simulator.test', 'mailbox_full@simulator.test', 'invalid_address@simulator.test']
  const { message_id } = (await api.send({ to })).json
  const rows = await api.world.db
    .select()
    .from(openDispatches)
    .where(eq(openDispatches.messageId, uuidOf(message_id)))
  const [bounced] = await list(`message_id=${message_id}&status=bounced`)
  expect(rows.map(({ eventId }) => publicId('evt', eventId))).toEqual([bounced.event_id])
})

test('the payload says what was reported, with the same bytes in a replay', async () => {
  await setEndpoint({ events: ['email.feedback'] })
  const { messageId, email } = await sendTo()
  await keep(messageId, bounceOf(email))
  const [event] = await list(`message_id=${messageId}&event=email.feedback`)
  const [original] = await dispatchesOf(event.event_id)
  expect(original).toMatchObject({ kind: 'original', state: 'waiting', next_attempt_at: TIME, attempts: [] })
  expect(await deliver(original!.dispatch_id)).toMatchObject({ state: 'acknowledged' })
  const { dispatch_id } = (await api.call('POST', `/api/v1/events/${event.event_id}/replay`)).json
  expect(await deliver(dispatch_id)).toMatchObject({ state: 'acknowledged' })
  const [first, second] = receiver.requests.map(({ body }) => body.toString())
  expect(second).toBe(first)
  expect(JSON.parse(first!)).toEqual({
    event: 'email.feedback',
    message_id: messageId,
    status: 'delivered',
    reason: 'mailbox_does_not_exist',
    timestamp: Math.floor(Date.parse(event.timestamp) / 1_000),
    event_id: event.event_id,
    recipient: email,
    feedback: 'late_bounce',
    detail: DETAIL,
    smtp: READ,
    ...SENT,
  })
})

test('a replay of a message sends the kinds that the endpoint asks for, whatever their status', async () => {
  const { messageId, email } = await sendTo()
  const { message_id: unreported } = (await api.send()).json
  await keep(messageId, bounceOf(email))
  await keep(messageId, complaintOf(email))
  const [complaint, bounce, outcome] = (await list(`message_id=${messageId}`)).map(
    ({ event_id }: { event_id: string }) => event_id,
  )
  const replay = async (id = messageId) => (await api.call('POST', `/api/v1/messages/${id}/replay`)).json
  const replayed = async () => (await replay()).events.map(({ event_id }: { event_id: string }) => event_id)
  expect(await replay()).toMatchObject({ error: 'webhook_not_configured' })
  await setEndpoint({ statuses: ['rejected'] })
  expect(await replayed()).toEqual([outcome])
  await setEndpoint({ events: ['email.feedback'] })
  expect(await replayed()).toEqual([bounce, complaint])
  expect(await replay(unreported)).toEqual({ replayed: true, message_id: unreported, count: 0, events: [] })
  await setEndpoint({ events: ['email.delivery', 'email.feedback'] })
  expect(await replayed()).toEqual([outcome, bounce, complaint])
  // One event is replayed whatever the endpoint asks for.
  await setEndpoint({ events: ['email.feedback'] })
  expect((await api.call('POST', `/api/v1/events/${outcome}/replay`)).json).toMatchObject({ event_id: outcome })
})

async function sendToFifty() {
  const to = Array.from({ length: 50 }, (_, i) => `user${++sends}-${i}@example.net`)
  const { message_id } = (await api.send({ to })).json
  await keep(message_id, bounceOf(to[0]!))
  await setEndpoint({ events: ['email.delivery', 'email.feedback'] })
  return message_id as string
}

test('a replay of more events than one workflow takes starts several', async () => {
  const messageId = await sendToFifty()
  const { count, events } = (await api.call('POST', `/api/v1/messages/${messageId}/replay`)).json
  expect(count).toBe(51)
  expect(api.workflows.started.map(({ dispatches }) => dispatches.length)).toEqual([50, 1])
  expect(api.workflows.started.flatMap(({ dispatches }) => dispatches.map(({ id }) => id))).toEqual(
    events.map(({ dispatch_id }: { dispatch_id: string }) => uuidOf(dispatch_id)),
  )
})

test('such a replay is refused whole when its first workflow cannot be started, and accepted when a later one cannot', async () => {
  const messageId = await sendToFifty()
  const waiting = () => api.world.db.$count(openDispatches, eq(openDispatches.kind, 'replay'))
  const before = await waiting()
  const { start } = api.workflows
  api.workflows.start = () => Promise.reject(new Error('UNAVAILABLE'))
  expect((await api.call('POST', `/api/v1/messages/${messageId}/replay`)).status).toBe(500)
  expect(await waiting()).toBe(before)
  api.workflows.start = (group) =>
    group.dispatches.length === 1 ? Promise.reject(new Error('UNAVAILABLE')) : start(group)
  expect((await api.call('POST', `/api/v1/messages/${messageId}/replay`)).json.count).toBe(51)
  api.workflows.start = start
  const rows = await api.world.db.select().from(openDispatches).where(eq(openDispatches.kind, 'replay'))
  // The hand-over loop starts the workflow of a row without this time.
  expect(rows.filter(({ messageId: id, handedOverAt }) => id === uuidOf(messageId) && !handedOverAt)).toHaveLength(1)
})

test('an outcome whose message is over 90 days old is not replayed: its payload would lack the evidence', async () => {
  let nowMs: number | undefined
  const later = await startApi(() => nowMs ?? Date.now())
  await later.call('PUT', '/api/v1/webhook', { body: { url: receiver.url } })
  script(later.world, { dot: { after: 30, act: '250 queued' } })
  const { message_id } = (await later.send({ to: 'ann@example.net' })).json
  const [{ event_id, timestamp }] = (await later.call('GET', '/api/v1/events')).json.events
  const { createdAt } = (await later.call('GET', `/api/v1/emails/${message_id}`)).json
  expect(Date.parse(timestamp)).toBeGreaterThan(Date.parse(createdAt))
  nowMs = Date.parse(timestamp) + 90 * 86_400_000
  expect((await later.call('GET', `/api/v1/events/${event_id}`)).status).toBe(200)
  expect((await later.call('POST', `/api/v1/events/${event_id}/replay`)).json.error).toBe('event_expired')
})
