// The law: our JSON readers and those of JavaScript and Protobuf return the same value, or both refuse the text.

import assert from 'node:assert/strict'
import { isUtf8 } from 'node:buffer'
import { fromJson, fromJsonString, type JsonValue, type Message, toBinary } from '@bufbuild/protobuf'
import { ValueSchema } from '@bufbuild/protobuf/wkt'
import { ConnectError } from '@connectrpc/connect'
import fc from 'fast-check'
import { MAX_DEPTH } from '../server/http/body/request-bounds.ts'
import { readJsonMessage } from '../server/http/rest/json-reader.ts'
import { parseJson } from '../server/http/rest/json-text.ts'
import { asProtoJson, OnlyInProtobuf } from './proto-json.ts'
import { jsonOf, REQUESTS, TEXT } from './requests.ts'
import { alone, type Target } from './target.ts'

const depth = fc.nat({ max: MAX_DEPTH + 8 })
const nested = fc.tuple(depth, fc.constantFrom('[', '{"a":')).map(([depth, open]) => {
  return open.repeat(depth) + (open === '[' ? '' : '1') + (open === '[' ? ']' : '}').repeat(depth)
})
const TOKENS = [
  ...['{', '}', '[', ']', ':', ',', '"', '"a"', '"b"', '"\\u0061"', '"__proto__"', '\\', '\\"', '\\u', '\\ud83d', ' '],
  ...[
    '\n',
    '\t',
    '\0',
    '\ufeff',
    '\u2028',
    '0',
    '-',
    '1',
    '1e400',
    '-0',
    '0.1',
    '01',
    'null',
    'true',
    'NaN',
    '//',
    'ü',
  ],
]
const text = fc.oneof(
  fc.json(),
  fc.jsonValue({ noUnicodeString: false }).map((value) => JSON.stringify(value, null, 2)),
  nested,
  fc.array(fc.constantFrom(...TOKENS), { maxLength: 14 }).map((tokens) => tokens.join('')),
  fc.array(fc.tuple(TEXT, fc.nat(3)), { maxLength: 4 }).map((pairs) => {
    return `{${pairs.map(([name, value]) => `${JSON.stringify(name)}:${value}`).join(',')}}`
  }),
)
/** A text with some characters between others, and some octets that are not its own. */
const octets = fc.record({
  text,
  inserted: fc.array(fc.record({ at: fc.nat(200), token: fc.constantFrom(...TOKENS) }), { maxLength: 2 }),
  octets: fc.array(fc.record({ at: fc.nat(200), octet: fc.nat(255) }), { maxLength: 1 }),
})
const request = fc
  .constantFrom(...REQUESTS.keys())
  .chain((name) => fc.record({ request: fc.constant(name), json: jsonOf(REQUESTS.get(name)!) }))
const inputs = fc.oneof(octets, request)
type Input = typeof inputs extends fc.Arbitrary<infer I> ? I : never

export const json: Target<Input> = {
  inputs,
  start: () => alone((input) => ('text' in input ? checkText(bytesOf(input)) : checkRequest(input))),
}

function bytesOf({ text, inserted, octets }: Extract<Input, { text: string }>): Buffer {
  const whole = inserted.reduce((text, { at, token }) => text.slice(0, at) + token + text.slice(at), text)
  const bytes = Buffer.from(whole)
  for (const { at, octet } of octets) if (at < bytes.length) bytes[at] = octet
  return bytes
}

function checkText(bytes: Buffer): void {
  const ours = returned(() => parseJson(bytes), ConnectError)
  const text = bytes.toString().replace(/^\ufeff/, '')
  const refusal = refusalOf(bytes, text)
  if (refusal) assert(ours.error, refusal)
  // A body is optional.
  else assert.deepEqual(ours, { value: bytes.length === 0 ? undefined : JSON.parse(text) })
}

function refusalOf(bytes: Buffer, text: string): string | undefined {
  if (bytes.length === 0) return undefined
  if (!isUtf8(bytes)) return 'it is not UTF-8'
  const { value, error } = returned(() => JSON.parse(text), SyntaxError)
  if (error) return `JSON.parse refuses it: ${error}`
  if (depthOf(value) > MAX_DEPTH) return 'it is nested too deep'
  // JavaScript keeps the last of two equal names, and Protobuf refuses them.
  const { error: protoError } = returned(() => fromJsonString(ValueSchema, text), Error)
  return /duplicate/.test(`${protoError}`) ? 'it has a name twice in one object' : undefined
}

function depthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  return 1 + Math.max(0, ...Object.values(value).map(depthOf))
}

function checkRequest({ request, json }: Extract<Input, { request: string }>): void {
  const desc = REQUESTS.get(request)!
  const { message, faults } = readJsonMessage(desc, json)
  const isRefused = faults.fields.length > 0 || faults.items.size > 0
  const proto = returned(() => asProtoJson(desc, json) as JsonValue, OnlyInProtobuf)
  const theirs = proto.error ? proto : returned(() => fromJson(desc, proto.value), Error)
  // `server/services/listing/filters.ts` refuses times that no message has.
  if (/must be from 0001-01-01/.test(`${theirs.error}`)) return
  assert.equal(
    isRefused,
    theirs.error !== undefined,
    `Only one refuses it: ${JSON.stringify(faults.fields)} or ${theirs.error}`,
  )
  if (isRefused) return
  assert.deepEqual(Buffer.from(toBinary(desc, message)), Buffer.from(toBinary(desc, theirs.value as Message)))
}

/** What a call returns, or the error of this class that it throws. */
function returned<Value>(
  call: () => Value,
  kind: new (...args: never[]) => Error,
): { value: Value; error?: undefined } | { value?: undefined; error: Error } {
  try {
    return { value: call() }
  } catch (error) {
    if (error instanceof kind) return { error }
    throw error
  }
}
