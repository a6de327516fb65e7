import fc from 'fast-check'
import { expect, test } from 'vitest'
import { completeRaw, type RawMessage, readRaw } from '../../../../mail/mime/raw/read-raw.ts'
import {
  IDEMPOTENCY_KEY,
  isServiceField,
  METADATA,
  nearServiceField,
  SANDBOX,
  shownServiceField,
  TAG,
  TENANT,
} from '../../../../mail/mime/raw/service-fields.ts'

const PREFIX = 'x-service-'
const WHOLE = [SANDBOX, TAG, TENANT]

/** How many letters must be inserted, dropped or replaced to make one text the other. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (const [i, letter] of [...a].entries()) {
    const above = row
    row = [i + 1]
    for (let j = 0; j < b.length; j++) {
      row.push(Math.min(above[j]! + (letter === b[j] ? 0 : 1), above[j + 1]! + 1, row[j]! + 1))
    }
  }
  return row.at(-1)!
}

const letter = fc.stringMatching(/^[!-9;-@[-~]$/)
const rest = fc.stringMatching(/^[a-z_-]{0,6}$/)
const ours = fc.oneof(
  fc.constantFrom(...WHOLE),
  rest.map((key) => METADATA + key),
)
/** Names that nearly are ours, and names that are not at all. */
const names = fc.oneof(
  ours,
  rest.map((end) => PREFIX + end),
  fc.tuple(ours, fc.nat(30), fc.nat(1), fc.option(letter, { nil: '' })).map(([name, at, dropped, inserted]) => {
    const place = Math.min(PREFIX.length + at, name.length)
    return name.slice(0, place) + inserted + name.slice(place + dropped)
  }),
)

test('a name is near when one letter after X-Service- makes it one of ours, and no other name is', () => {
  fc.assert(
    fc.property(names, (name) => {
      const isOurs = WHOLE.includes(name) || name.startsWith(METADATA)
      expect(isServiceField(name)).toBe(isOurs)
      const starts = Array.from({ length: name.length + 1 }, (_, length) => name.slice(0, length))
      const isNear =
        WHOLE.some((one) => distance(name, one) === 1) || starts.some((start) => distance(start, METADATA) === 1)
      expect(nearServiceField(name) !== undefined).toBe(isNear && !isOurs)
    }),
    { numRuns: 2_000 },
  )
  for (const name of ['x-tag', 'x-servic-tag', 'service-tag']) expect(nearServiceField(name)).toBeUndefined()
})

test('a message goes on without the fields for the service, in any case of letters, and keeps all others', () => {
  const cased = fc.tuple(fc.oneof(ours, fc.constant(IDEMPOTENCY_KEY)), fc.boolean()).map(([name, isUpper]) => {
    return isUpper ? name.toUpperCase() : shownServiceField(name)
  })
  const others = fc.constantFrom('X-Service-Other', 'X-Service', 'X-Mailer', 'X-Idempotency-Key')
  fc.assert(
    fc.property(fc.array(fc.oneof(cased, others), { maxLength: 8 }), fc.boolean(), (given, isFolded) => {
      const lines = given.map((name) => `${name}: a${isFolded ? '\r\n b' : ''}\r\n`)
      const own = 'From: hello@example.test\r\nDate: Sat, 28 Nov 2026 10:00:00 +0000\r\nMessage-ID: <1@t>\r\n'
      const raw = readRaw(Buffer.from(`${lines.join('')}${own}\r\nHi\r\n`)) as RawMessage
      const sent = Buffer.concat(completeRaw(raw, { messageId: 'msg', date: new Date(0) })).toString()
      const kept = lines.filter((_, i) => !isServiceField(given[i]!.toLowerCase()))
      expect(sent).toBe(`${kept.join('')}${own}\r\nHi\r\n`)
    }),
  )
})
