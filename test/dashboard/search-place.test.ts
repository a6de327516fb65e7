import { expect, test } from 'vitest'
import { readingsOf } from '../../dashboard/frame/search-place.ts'
import { readFilters } from '../../dashboard/lists/read-filters.ts'
import { MESSAGE_PARAMETERS } from '../../dashboard/messages/message-filters.ts'
import { newId, publicId } from '../../server/db/ids.ts'

const MESSAGE = 'msg_01m81wy2s6efabg3acxxehggs0'
const EVENT = 'evt_01m81wy2wce5ss5vkne7zf34vx'

test.for([
  ['the id of a message', MESSAGE, `messages/${MESSAGE}`],
  ['an id in quotes, as logs write it', ` "${MESSAGE}", `, `messages/${MESSAGE}`],
  ['an id in upper case', MESSAGE.toUpperCase(), `messages/${MESSAGE}`],
  ['the id of an event', EVENT, `events/${EVENT}`],
  ['an address', 'ann@example.com', 'messages?recipient=ann%40example.com'],
  ['a name and an address', 'Ann <ann@example.com>', 'messages?recipient=ann%40example.com'],
  ['a link to an address', 'mailto:ann@example.com?subject=Hi', 'messages?recipient=ann%40example.com'],
  ['an address with a quoted local part', '"a b"@example.com', 'messages?recipient=%22a+b%22%40example.com'],
  [
    'an address that would change the query',
    'a&status=x@example.com',
    'messages?recipient=a%26status%3Dx%40example.com',
  ],
  ['a domain', 'Example.com', 'messages?recipient_domain=Example.com'],
  ['a domain in another script', 'bücher.example', 'messages?recipient_domain=b%C3%BCcher.example'],
  ['a mailbox provider', 'outlook', 'messages?bounced_by=microsoft'],
  ['an IP address', '192.0.2.1', 'messages?bounced_by=192.0.2.1'],
  ['an IPv6 address', '2001:db8::1', 'messages?bounced_by=2001%3Adb8%3A%3A1'],
  ['a word', 'password-reset', 'messages?tag=password-reset'],
  ['several words', 'order 4102', 'messages?subject=order+4102'],
  ['a number', '4102', 'messages?subject=4102'],
  ['a pair of metadata', 'order.id=4 & 5', 'messages?metadata=order.id%3D4+%26+5'],
  ['signs without a word', '--', 'messages?tag=--'],
  ['what looks like an id, and is no time', 'msg_zzzzzzzzzz', 'messages?tag=msg_zzzzzzzzzz'],
  ['all of a domain', '@outlook.com', 'messages?recipient_domain=outlook.com'],
  ['an unfinished address', 'gone.ivan@', 'messages?recipient=gone.ivan'],
  ['nothing', '   ', undefined],
] as const)('a search for %s leads to its place first', ([, text, place]) => {
  expect(readingsOf(text)[0]?.place).toBe(place)
})

const SENT_MS = Date.UTC(2026, 0, 31, 12, 30, 15, 123)
const SENT = publicId('msg', newId(SENT_MS))

test.for([
  SENT.slice(0, 10),
  SENT.slice(0, 14),
  SENT.slice(0, 20),
  `${SENT.slice(0, 12)}…${SENT.slice(-4)}`,
  `${SENT.slice(0, 14).toUpperCase()}...`,
])('an id that was cut leads to the messages of its time: %s', (text) => {
  const [reading, ...more] = readingsOf(text)
  expect(more).toEqual([])
  const { from, to } = Object.fromEntries(new URLSearchParams(reading!.place.split('?')[1]))
  expect(Date.parse(from!)).toBeLessThanOrEqual(SENT_MS)
  expect(Date.parse(to!)).toBeGreaterThan(SENT_MS)
})

test('every place of the list of messages is a search that the list understands', () => {
  const texts = [
    'outlook.com',
    'ann@outlook.com',
    '@a.example',
    'ann@',
    'welcome',
    'order=4102',
    'order 4102',
    'msg_01m81wy2s6',
  ]
  for (const { finds, place } of texts.flatMap((text) => readingsOf(text, ['customer']))) {
    if (!finds || !('messages' in finds)) continue
    expect(readFilters(MESSAGE_PARAMETERS, { ...finds.messages })).toEqual(finds.messages)
    expect(place).toBe(`messages?${new URLSearchParams({ ...finds.messages })}`)
  }
})

test('every way to read a text is offered, and names what it looks for', () => {
  const readings = (text: string) => readingsOf(text).map(({ label, value }) => `${label} ${value}`)
  expect(readings('outlook.com')).toEqual([
    'Messages to anyone at outlook.com',
    'Messages bounced by Microsoft (Outlook)',
    'Messages from the domain outlook.com',
    'Messages whose subject has outlook.com',
    'Messages with the tag outlook.com',
    'Messages to addresses that begin outlook.com',
    'Messages of the tenant outlook.com',
  ])
  expect(readings('Ann <ann@outlook.com>')).toEqual([
    'Messages to ann@outlook.com',
    'Suppressions of ann@outlook.com',
    'Refused sends to ann@outlook.com',
    'Messages from ann@outlook.com',
    'Messages to anyone at outlook.com',
    'Messages whose subject has ann@outlook.com',
    'Messages with the tag ann@outlook.com',
  ])
  expect(readings('mx1.example.net')).toContain('Messages bounced by mx1.example.net')
  expect(readings('welcome')).toEqual([
    'Messages with the tag welcome',
    'Messages whose subject has welcome',
    'Messages to addresses that begin welcome',
    'Messages of the tenant welcome',
  ])
  expect(readings('Gmail')).toEqual([
    'Messages bounced by Google (Gmail)',
    'Messages with the tag Gmail',
    'Messages whose subject has Gmail',
    'Messages to addresses that begin Gmail',
    'Messages of the tenant Gmail',
  ])
  const ofKeys = readingsOf('cus_102', ['customer', 'order']).map(({ label, value }) => `${label} ${value}`)
  expect(ofKeys).toContain('Messages with the metadata customer=cus_102')
  expect(ofKeys).toContain('Messages with the metadata order=cus_102')
  expect(readings('order=4102')).toEqual([
    'Messages with the metadata order=4102',
    'Messages whose subject has order=4102',
    'Messages with the tag order=4102',
  ])
  expect(readings('--')).toEqual(['Messages with the tag --', 'Messages of the tenant --'])
  expect(readings(MESSAGE)).toEqual([`Open message ${MESSAGE}`])
})
