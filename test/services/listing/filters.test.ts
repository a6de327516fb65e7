import { create } from '@bufbuild/protobuf'
import { TimestampSchema } from '@bufbuild/protobuf/wkt'
import { ConnectError } from '@connectrpc/connect'
import { expect, test } from 'vitest'
import { EmailService, ListEmailsRequestSchema } from '../../../gen/verdict/v1/emails_pb.ts'
import { EventService } from '../../../gen/verdict/v1/events_pb.ts'
import { StatsService } from '../../../gen/verdict/v1/stats_pb.ts'
import { newId } from '../../../server/db/ids.ts'
import { pageOf, readCursor } from '../../../server/services/listing/pages.ts'
import { startApi } from '../api.ts'

const api = await startApi()

const get = (path: string) => api.call('GET', `/api/v1/${path}`)
const messageOf = (call: Promise<unknown>) => call.then(String, (error) => ConnectError.from(error).rawMessage)

const TIMED = ['emails', 'events', 'stats']

test.each(TIMED)('%s: a time is RFC 3339 with an offset, or a date', async (path) => {
  for (const time of [
    '2026-01-31',
    '2026-01-31T12:00:00Z',
    '2026-01-31T12:00:00.123456789Z',
    '2026-01-31T12:00:00%2B01:00',
    '2026-01-31T12:00:00-05:30',
    '2026-01-31t12:00:00z',
  ]) {
    expect([time, (await get(`${path}?from=${time}&to=2026-02-02`)).status]).toEqual([time, 200])
  }
  for (const time of [
    '2026-01-31T12:00:00',
    '2026-01-31T12:00',
    '2026-02-30',
    '2026-01-31T24:00:00Z',
    '2026-01-31T12:00:00+99:00',
    '31.01.2026',
    '1769860800',
    'yesterday',
    '1960-01-01',
    '',
  ]) {
    const { status, json } = await get(`${path}?from=${encodeURIComponent(time)}`)
    expect([time, status, json.details?.[0].field]).toEqual([time, 400, 'from'])
  }
})

test.each(TIMED)('%s: the fault of a time says how to mend it', async (path) => {
  expect((await get(`${path}?from=2026-01-31T12:00:00`)).json.message).toContain('Add the offset')
  // An unescaped plus of a URL arrives as a space.
  expect((await get(`${path}?to=2026-01-31T12:00:00+01:00`)).json.message).toContain('%2B')
})

test.each(TIMED)('%s: from after to is refused, and equal times are a range of nothing', async (path) => {
  const { status, json } = await get(`${path}?from=2026-01-02&to=2026-01-01`)
  expect([status, json.details[0].field, json.message]).toEqual([400, 'from', expect.stringContaining('is after to')])
  const equal = await get(`${path}?from=2026-01-01&to=2026-01-01`)
  expect([equal.status, equal.json.emails ?? equal.json.events ?? equal.json.series]).toEqual([200, []])
})

test('the same holds over gRPC', async () => {
  const at = (ms: number) => create(TimestampSchema, { seconds: BigInt(ms / 1_000), nanos: 0 })
  const reversed = { from: at(2_000), to: at(1_000) }
  const messages = await Promise.all(
    [
      api.grpc(EmailService).listEmails(reversed),
      api.grpc(EventService).listEvents(reversed),
      api.grpc(StatsService).getStats({ from: '2026-01-02', to: '2026-01-01' }),
    ].map(messageOf),
  )
  for (const message of messages) expect(message).toContain('from is after to')
  const nanos = { from: create(TimestampSchema, { seconds: 1n, nanos: -5 }) }
  expect(await messageOf(api.grpc(EmailService).listEmails(nanos))).toContain('from must be a time')
  expect(await messageOf(api.grpc(EmailService).listEmails({ recipient: 'an' }))).toContain('recipient is not')
  expect(await messageOf(api.grpc(EventService).listEvents({ recipient: '' }))).toContain('recipient is not')
})

test.each(['emails', 'events'])(
  '%s: a recipient that is no address, nor a part of one, is refused, and a lost plus is named',
  async (path) => {
    for (const recipient of ['an', 'ann@', 'Ann <ann@example.com>', '']) {
      const { status, json } = await get(`${path}?recipient=${encodeURIComponent(recipient)}`)
      expect([recipient, status, json.details[0].field]).toEqual([recipient, 400, 'recipient'])
      expect(json.message).not.toContain('%2B')
    }
    expect((await get(`${path}?recipient=ann+news@example.com`)).json.message).toContain('%2B')
    expect((await get(`${path}?recipient=ann%2Bnews@example.com`)).status).toBe(200)
  },
)

test('the address of an entry on the suppression list has the same hint', async () => {
  const { json } = await get('suppression?email=ann+news@example.com')
  expect([json.error, json.message]).toEqual(['invalid_address', expect.stringContaining('%2B')])
})

test('a domain that is none is refused', async () => {
  for (const path of ['emails', 'stats'])
    expect((await get(`${path}?domain=not+a+domain`)).json.details[0].field).toBe('domain')
})

test.each([
  ['emails', 100],
  ['events', 100],
  ['suppression', 1_000],
])('%s: a number names the range of its field', async (path, most) => {
  for (const limit of ['0', String(most + 1), 'ten', '-1', '1.5', '99999999999999', '']) {
    const { status, json } = await get(`${path}?limit=${limit}`)
    expect([limit, status, json.message]).toEqual([limit, 400, `limit must be a whole number from 1 to ${most}.`])
  }
})

test('the hint of an import is accepted by the import', async () => {
  const post = (emails: unknown[]) => api.call('POST', '/api/v1/suppression/import', { body: { emails } })
  const { status, json } = await post([{ email: 'ann@example.com' }])
  const hint = /such as "(.*)"/.exec(json.message)![1]
  expect([status, (await post([hint])).json.imported]).toEqual([400, 1])
})

test('a cursor is good for the same pairs in another order: some gRPC clients write them anew for each page', () => {
  const asked = (metadata: Record<string, string>, cursor?: string) =>
    create(ListEmailsRequestSchema, { metadata, cursor })
  const rows = [{ id: newId(2) }, { id: newId(1) }]
  const { nextCursor } = pageOf(rows, 1, ListEmailsRequestSchema, asked({ order: '7', shop: 'a' }))
  const read = (metadata: Record<string, string>) => readCursor(ListEmailsRequestSchema, asked(metadata, nextCursor))
  expect(read({ shop: 'a', order: '7' })).toBe(rows[0]!.id)
  expect(() => read({ shop: '7', order: 'a' })).toThrow('cursor is not a next_cursor of these filters')
})
