import { expect, test } from 'vitest'
import { readingsOf } from '../../dashboard/frame/search-place.ts'

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
  ['a word', 'password-reset', 'messages?tag=password-reset'],
  ['several words', 'order 4102', 'messages?subject=order+4102'],
  ['a number', '4102', 'messages?subject=4102'],
  ['a pair of metadata', 'order.id=4 & 5', 'messages?metadata=order.id%3D4+%26+5'],
  ['signs without a word', '--', 'messages?tag=--'],
  ['an id that was cut', 'msg_01m81wy2s6', 'messages?tag=msg_01m81wy2s6'],
  ['nothing', '   ', undefined],
] as const)('a search for %s leads to its place first', ([, text, place]) => {
  expect(readingsOf(text)[0]?.place).toBe(place)
})

test('every way to read a text is offered, and names what it looks for', () => {
  const readings = (text: string) => readingsOf(text).map(({ label, value }) => `${label} ${value}`)
  expect(readings('outlook.com')).toEqual([
    'Messages to anyone at outlook.com',
    'Messages bounced by Microsoft (Outlook)',
    'Messages from the domain outlook.com',
    'Messages whose subject has outlook.com',
    'Messages with the tag outlook.com',
  ])
  expect(readings('Ann <ann@outlook.com>')).toEqual([
    'Messages to ann@outlook.com',
    'Suppressions of ann@outlook.com',
    'Messages to anyone at outlook.com',
    'Messages whose subject has ann@outlook.com',
    'Messages with the tag ann@outlook.com',
  ])
  expect(readings('welcome')).toEqual(['Messages with the tag welcome', 'Messages whose subject has welcome'])
  expect(readings('Gmail')).toEqual([
    'Messages bounced by Google (Gmail)',
    'Messages with the tag Gmail',
    'Messages whose subject has Gmail',
  ])
  expect(readings('order=4102')).toEqual([
    'Messages with the metadata order=4102',
    'Messages whose subject has order=4102',
    'Messages with the tag order=4102',
  ])
  expect(readings('--')).toEqual(['Messages with the tag --'])
  expect(readings(MESSAGE)).toEqual([`Open message ${MESSAGE}`])
})
