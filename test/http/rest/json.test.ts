import { randomBytes } from 'node:crypto'
import { create, type DescEnum, type DescMessage, type Message, ScalarType, toBinary } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { EmailService, SendRequestSchema, SendResponseSchema } from '../../../gen/verdict/v1/emails_pb.ts'
import { ErrorReasonSchema } from '../../../gen/verdict/v1/errors_pb.ts'
import { EventSchema, EventService, ListEventsRequestSchema } from '../../../gen/verdict/v1/events_pb.ts'
import { DeliveryStatusSchema, ReasonSchema, SmtpPhaseSchema } from '../../../gen/verdict/v1/outcomes_pb.ts'
import { PUBLIC_ERRORS } from '../../../server/errors.ts'
import { positionOfFault } from '../../../server/http/rest/json-position.ts'
import { readJsonMessage } from '../../../server/http/rest/json-reader.ts'
import { enumName, jsonNamesOf, TIMESTAMP } from '../../../server/http/rest/json-shape.ts'
import { parseJson } from '../../../server/http/rest/json-text.ts'
import { writeMessage } from '../../../server/http/rest/json-writer.ts'

/** Every message that REST reads or writes. */
function messagesOf(desc: DescMessage, seen = new Set<DescMessage>()): Set<DescMessage> {
  if (seen.has(desc) || desc.typeName === TIMESTAMP) return seen
  seen.add(desc)
  for (const field of desc.fields) if (field.message) messagesOf(field.message, seen)
  return seen
}

const methods = [EmailService, EventService].flatMap((service) => service.methods)
const messages = [...new Set(methods.flatMap(({ input, output }) => [...messagesOf(input), ...messagesOf(output)]))]

test('every field is snake_case in JSON, other than the timestamps of a stored email in Get email and lists', () => {
  const camel = messages.flatMap((desc) => desc.fields.filter((field) => /[A-Z]/.test(field.jsonName)))
  expect(camel.map((field) => `${field.parent.name}.${field.jsonName}`).sort()).toEqual([
    'GetEmailResponse.completedAt',
    'GetEmailResponse.createdAt',
    'GetEmailResponse.expiresAt',
    'ListedEmail.completedAt',
    'ListedEmail.createdAt',
  ])
})

test('no field of REST is a 64-bit integer, which JSON can only write as text', () => {
  const long = new Set([
    ScalarType.INT64,
    ScalarType.UINT64,
    ScalarType.FIXED64,
    ScalarType.SFIXED64,
    ScalarType.SINT64,
  ])
  const found = messages.flatMap((desc) => desc.fields.filter((field) => field.scalar && long.has(field.scalar)))
  expect(found.map(String)).toEqual([])
})

test.for<[DescEnum, DescMessage, string]>([
  [DeliveryStatusSchema, EventSchema, 'status'],
  [ReasonSchema, EventSchema, 'reason'],
])('every value of %s is read and written by its short name', ([desc, message, field]) => {
  for (const [word, number] of jsonNamesOf(desc)) {
    expect(word).toMatch(/^[a-z][a-z_]*$/)
    const read = readJsonMessage(message, { [field]: word })
    expect([read.faults.fields, (read.message as Message & Record<string, unknown>)[field]]).toEqual([[], number])
    expect(writeMessage(message, read.message)).toMatchObject({ [field]: word })
  }
  expect(readJsonMessage(message, { [field]: 'unspecified' }).faults.fields).toHaveLength(1)
})

test('the enum names are those of the specification', () => {
  expect([...jsonNamesOf(DeliveryStatusSchema).keys()]).toEqual(['delivered', 'bounced', 'rejected'])
  expect([...jsonNamesOf(ReasonSchema).keys()].slice(0, 4)).toEqual([
    'mailbox_full',
    'mailbox_does_not_exist',
    'no_mx_record',
    'connection_timeout',
  ])
  expect(jsonNamesOf(SmtpPhaseSchema).get('after_dot')).toBe(10)
})

test('the contract and the error table have the same reasons', () => {
  expect(
    ErrorReasonSchema.values
      .filter(({ number }) => number > 0)
      .map(enumName)
      .sort(),
  ).toEqual(Object.keys(PUBLIC_ERRORS).sort())
})

test('an absent field is left out, null or empty, as the contract says', () => {
  expect(writeMessage(SendResponseSchema, create(SendResponseSchema, { status: 1, messageId: 'msg_1' }))).toEqual({
    status: 'delivered',
    message_id: 'msg_1',
  })
  const response = create(SendResponseSchema, { status: 2, messageId: 'msg_1', smtp: { phase: 7 }, recipients: [{}] })
  expect(writeMessage(SendResponseSchema, response)).toMatchObject({ smtp: { tls: null }, recipients: [{ email: '' }] })
})

test.each([
  [0, '1970-01-01T00:00:00.000Z'],
  [1, '1970-01-01T00:00:00.001Z'],
  [1_769_860_800_000, '2026-01-31T12:00:00.000Z'],
  [-1, '1969-12-31T23:59:59.999Z'],
])('the time %i is written %s, always with milliseconds', (ms, text) => {
  const event = create(EventSchema, { timestamp: timestampFromMs(ms) })
  expect(writeMessage(EventSchema, event)).toMatchObject({ timestamp: text })
  expect(readJsonMessage(EventSchema, { timestamp: text }).message).toMatchObject({ timestamp: event.timestamp })
})

test.each([
  ['2026-01-31', '2026-01-31T00:00:00.000Z'],
  ['2026-01-31T12:00:00+02:00', '2026-01-31T10:00:00.000Z'],
  ['2026-01-31T12:00:00.1234567Z', '2026-01-31T12:00:00.123Z'],
  ['2024-02-29T23:59:59Z', '2024-02-29T23:59:59.000Z'],
])('the time %s is read as %s', (given, meant) => {
  const { message, faults } = readJsonMessage(EventSchema, { timestamp: given })
  expect([faults.fields, writeMessage(EventSchema, message)]).toMatchObject([[], { timestamp: meant }])
})

test.each([
  '2026-02-30',
  '2026-13-01',
  '2026-01-31T24:00:01Z',
  '2026-01-31T12:00:00',
  '31.1.2026',
  '0',
  '',
  0,
  true,
  {},
])('%j is not a time', (given) => {
  const message = expect.stringMatching(/^must be a time such as 2026-01-31T12:00:00Z, or a date such as 2026-01-31/)
  expect(readJsonMessage(ListEventsRequestSchema, { from: given }).faults.fields).toEqual([{ field: 'from', message }])
})

test('null means absent', () => {
  const { message, faults } = readJsonMessage(SendRequestSchema, {
    to: 'a@b.test',
    html: null,
    attachments: null,
    headers: null,
  })
  expect([faults.fields, toBinary(SendRequestSchema, message as never)]).toEqual([
    [],
    toBinary(SendRequestSchema, create(SendRequestSchema, { to: ['a@b.test'] })),
  ])
})

test('base64 of any bytes is read in every form', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 50 }), (bytes) => {
      const padded = Buffer.from(bytes).toString('base64')
      for (const content of [padded, padded.replaceAll('=', ''), Buffer.from(bytes).toString('base64url')]) {
        const { message, faults } = readJsonMessage(SendRequestSchema, { attachments: [{ content }] })
        expect(faults.fields).toEqual([])
        expect([...(message as unknown as { attachments: [{ content: Uint8Array }] }).attachments[0].content]).toEqual([
          ...bytes,
        ])
      }
    }),
  )
})

test('text with a character that is not base64 is refused', () => {
  fc.assert(
    fc.property(
      fc.base64String({ minLength: 4 }),
      fc.nat(),
      fc.constantFrom(' ', '\n', '!', '=', 'é', '\0'),
      (text, at, bad) => {
        const place = at % (text.replace(/=+$/, '').length - 1)
        const content = text.slice(0, place) + bad + text.slice(place + 1)
        expect(readJsonMessage(SendRequestSchema, { attachments: [{ content }] }).faults.fields).toHaveLength(1)
      },
    ),
  )
})

test('base64 of any length is read whole, and refused for one character or a line break anywhere', () => {
  const read = (content: string) => {
    const { message, faults } = readJsonMessage(SendRequestSchema, { attachments: [{ content }] })
    const { attachments } = message as unknown as { attachments: [{ content?: Uint8Array }] }
    return { bytes: attachments[0].content, faults: JSON.stringify(faults.fields) }
  }
  const lengths = fc.oneof(fc.nat(200_000), fc.constantFrom(49_150, 49_151, 49_152, 49_153, 98_304, 98_305))
  fc.assert(
    fc.property(lengths, fc.nat(), fc.constantFrom('base64' as const, 'base64url' as const), (length, at, alphabet) => {
      const octets = randomBytes(length + 3)
      const text = octets.toString(alphabet)
      const { bytes, faults } = read(text)
      expect([octets.equals(bytes!), faults]).toEqual([true, '[]'])
      const place = at % (text.replace(/=+$/, '').length - 1)
      const broken = `${text.slice(0, place)}!${text.slice(place + 1)}`
      expect(read(broken).faults).toContain('is not base64')
      const wrapped = `${text.slice(0, place)}\r\n${text.slice(place)}`
      expect(read(wrapped).faults).toContain('holds line breaks')
    }),
    { numRuns: 50 },
  )
})

/** What fingers make of a word: a letter more, one less, another one, or two exchanged. */
const mistyped = (word: string) =>
  Array.from(word, (letter, i) => {
    const [before, after] = [word.slice(0, i), word.slice(i + 1)]
    return [
      `${before}${letter}${letter}${after}`,
      `${before}${after}`,
      `${before}q${after}`,
      `${before}${after.slice(0, 1)}${letter}${after.slice(1)}`,
    ]
  }).flat()

test('every field is found by a name that is a slip of the fingers away', () => {
  const names = SendRequestSchema.fields.map(({ jsonName }) => jsonName).filter(({ length }) => length >= 4)
  for (const name of names)
    for (const slip of mistyped(name).filter((slip) => !names.includes(slip) && slip.length >= 4)) {
      const { faults } = readJsonMessage(SendRequestSchema, { [slip]: 'x' })
      expect(faults.fields[0]).toEqual({ field: slip, message: `is not a known field; did you mean "${name}"?` })
    }
})

test('every fault has the path of its field', () => {
  const { faults } = readJsonMessage(SendRequestSchema, {
    to: [1],
    attachments: [{}, { filename: 2, content: [] }, 'x'],
    headers: { a: null, b: 1 },
    'Reply-To': 'x',
  })
  expect(faults.fields.map(({ field, message }) => `${field} ${message}`)).toEqual([
    'to[0] must be a string',
    'attachments[1].filename must be a string',
    'attachments[1].content must be a string of base64',
    'attachments[2] must be an object',
    'headers["a"] must be a string',
    'headers["b"] must be a string',
    'Reply-To is not a known field; did you mean "reply_to"?',
  ])
})

test.each([
  [{ to: { email: 'a@b.test' } }, 'to must be a string or a list of strings, such as "Ann <ann@example.com>"'],
  [{ to: [{ name: 'A', address: 'a@b.test' }] }, 'to[0] must be a string, such as "Ann <ann@example.com>"'],
  [{ from: { name: 'A', email: 'a@b.test' } }, 'from must be a string, such as "Ann <ann@example.com>"'],
  [{ subject: { a: 1 } }, 'subject must be a string'],
  [{ metadata: [{ name: 'a', value: 'b' }] }, 'metadata must be an object, such as {"name": "value"}'],
  [{ HtmlBody: 'a' }, 'HtmlBody is not a known field; did you mean "html"?'],
  [{ TextBody: 'a' }, 'TextBody is not a known field; did you mean "text"?'],
  [{ MessageStream: 'a' }, 'MessageStream is not a known field; tell kinds of mail apart by "tag"'],
  [{ EmailTags: [] }, 'EmailTags is not a known field; did you mean "metadata" or "tag"?'],
  [{ react: {} }, 'react is not a known field; send the finished html or text'],
  [{ list: {} }, 'list is not a known field; send "List-Unsubscribe" and the like in "headers"'],
  [{ priority: 'high' }, 'priority is not a known field; send "X-Priority" in "headers"'],
  [{ inReplyTo: 'a' }, 'inReplyTo is not a known field; send "In-Reply-To" in "headers"'],
  [{ attachments: [{ Name: 'a' }] }, 'attachments[0].Name is not a known field; did you mean "filename"?'],
  [{ attachments: [{ encoding: 'a' }] }, 'attachments[0].encoding is not a known field; "content" is always base64'],
  [{ attachments: [{ content: 'aGVs\r\nbG8=' }] }, 'holds line breaks. Send the base64 without them'],
  [{ attachments: [{ content: 'no base64!\n' }] }, 'attachments[0].content is not base64'],
  [{ tags: [] }, 'tags is not a known field; did you mean "metadata" or "tag"?'],
  [{ scheduledAt: 'x' }, 'scheduledAt is not a known field; every email is sent at once'],
  [{ attachments: [{ path: '/a' }] }, 'path is not a known field; send the bytes of the file as base64 in "content"'],
  [{ attachments: [{ cid: 'a' }] }, 'cid is not a known field; did you mean "content_id"?'],
  [{ attachments: [{ tags: 'a', constructor: 'b' }] }, 'attachments[0].tags is not a known field'],
])('the fault of %j says how to mend it', (json, words) => {
  const [fault] = readJsonMessage(SendRequestSchema, json).faults.fields
  expect(`${fault!.field} ${fault!.message}`.endsWith(words)).toBe(true)
})

test('no more than 20 faults are listed', () => {
  expect(readJsonMessage(SendRequestSchema, { to: Array.from({ length: 1_000 }, () => 1) }).faults.fields).toHaveLength(
    20,
  )
})

test('any JSON is read without a throw', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (json) => {
      readJsonMessage(SendRequestSchema, json)
      readJsonMessage(ListEventsRequestSchema, { from: json, limit: json, sandbox: json, status: json })
    }),
  )
})

test('JSON texts have the values that JSON.parse returns, large ones included', () => {
  fc.assert(
    fc.property(fc.json(), (text) => {
      const large = `${' '.repeat(20_000)}${text}`
      for (const each of [text, large, `\ufeff${text}`]) expect(parseJson(Buffer.from(each))).toEqual(JSON.parse(text))
    }),
  )
})

test('a fault has its position, wherever the text is broken', () => {
  fc.assert(
    fc.property(fc.json(), fc.nat(), fc.constantFrom('', '}', '"', ',', '\\', '\u0001', 'x'), (text, at, bad) => {
      const place = at % text.length
      const broken = text.slice(0, place) + bad + text.slice(place + 1)
      try {
        JSON.parse(broken)
      } catch {
        expect(positionOfFault(broken)).toMatch(/^: line 1, column \d+; .+/)
      }
    }),
  )
  expect(positionOfFault(`{"a":"${'x'.repeat(15_000_000)}`)).toMatch(/column 6/)
})

test('a byte order mark does not hide the position of a fault', () => {
  expect(() => parseJson(Buffer.from('\ufeff{"a": 1,}'))).toThrow('line 1, column 9; a name in double quotes')
})

test('a name twice in one object is refused and named, however it is escaped', () => {
  for (const [text, name, column] of [
    ['{"to":1,"to":2}', 'to', 9],
    ['{"to":1,"\\u0074o":2}', 'to', 9],
    ['{"headers":{"a":"b","a":"c"}}', 'a', 21],
    ['[{"__proto__":1,"__proto__":1}]', '__proto__', 17],
  ] as const) {
    expect(() => parseJson(Buffer.from(text))).toThrow(`the name "${name}" twice (line 1, column ${column})`)
  }
  expect(parseJson(Buffer.from('{"a":{"b":1},"b":{"b":[{"b":1},{"b":2}]}}'))).toBeDefined()
})

test('faults beyond the listed ones are counted', () => {
  const { faults } = readJsonMessage(SendRequestSchema, { to: Array.from({ length: 1_000 }, () => 1) })
  expect([faults.fields.length, faults.unlisted]).toEqual([20, 980])
})

test.each([
  ['objects', `{"attachments":[${'{},'.repeat(2_000)}{}]}`],
  ['names and values', `[${'1,'.repeat(50_000)}1]`],
  ['names and values', '"'.repeat(200_000)],
  ['MiB outside of strings', '\n'.repeat(5 * 2 ** 20)],
  ['nested deeper', '['.repeat(33)],
])('too many %s are refused before a value is created', (words, text) => {
  expect(() => parseJson(Buffer.from(text))).toThrow(words)
})

test('escaped quotes do not end a string, at any position', () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom('"', '\\', 'a', '{', ','), { maxLength: 40 }), (parts) => {
      const value = { [parts.join('')]: parts.join('x'), list: parts }
      expect(parseJson(Buffer.from(JSON.stringify(value)))).toEqual(value)
    }),
  )
})
