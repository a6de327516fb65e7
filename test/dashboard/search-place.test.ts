import { expect, test } from 'vitest'
import { placeOf } from '../../dashboard/frame/search-place.ts'

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
  ['a domain', 'Example.com', 'messages?domain=Example.com'],
  ['a domain in another script', 'bücher.example', 'messages?domain=b%C3%BCcher.example'],
  ['a word', 'password-reset', 'messages?tag=password-reset'],
  ['an id that was cut', 'msg_01m81wy2s6', 'messages?tag=msg_01m81wy2s6'],
  ['nothing', '   ', undefined],
] as const)('a search for %s leads to its place', ([, text, place]) => {
  expect(placeOf(text)).toBe(place)
})
