import { type DescField, type DescMessage, ScalarType } from '@bufbuild/protobuf'
import fc from 'fast-check'
import { PUBLIC_SERVICES } from '../server/access/scopes.ts'
import { bindingsOf } from '../server/http/rest/bindings.ts'
import { jsonNamesOf, maskOf, TIMESTAMP } from '../server/http/rest/json-shape.ts'
import { anyCharacter } from '../test/harness/text.ts'

/** The requests of REST, by the names of their types. An update makes its mask itself, which Protobuf does not. */
export const REQUESTS = new Map(
  bindingsOf(PUBLIC_SERVICES)
    .map(({ method }) => method.input)
    .filter((desc) => desc.fields.length > 0 && maskOf(desc) === undefined)
    .map((desc) => [desc.typeName, desc] as const),
)

export const TEXT = fc.oneof(
  fc.string({ maxLength: 8 }),
  fc.string({ unit: anyCharacter, maxLength: 4 }),
  fc.constantFrom('', 'a@b.test', '__proto__', 'constructor', 'null', '0', '1', 'a', 'b'),
)

/** JSON that is nearly always right for a message, or nearly so. */
export function jsonOf(desc: DescMessage): fc.Arbitrary<unknown> {
  if (desc.typeName === TIMESTAMP) return time
  const fields = desc.fields.map((field) => [field.jsonName, mostly(fieldOf(field))] as const)
  const known = fc.record(Object.fromEntries(fields), { requiredKeys: [] })
  const unknown = fc.dictionary(TEXT, fc.constantFrom(1, null), { minKeys: 1, maxKeys: 1 })
  return fc.oneof(
    { weight: 20, arbitrary: known },
    { weight: 1, arbitrary: fc.tuple(known, unknown).map(([known, unknown]) => ({ ...known, ...unknown })) },
  )
}

const mostly = (values: fc.Arbitrary<unknown>) =>
  fc.oneof({ weight: 24, arbitrary: values }, { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 2 }) })

function fieldOf(field: DescField): fc.Arbitrary<unknown> {
  const one = mostly(singleOf(field))
  if (field.fieldKind === 'list') return fc.oneof(fc.array(one, { maxLength: 3 }), one)
  if (field.fieldKind === 'map') return fc.dictionary(TEXT, one, { maxKeys: 3 })
  return one
}

function singleOf(field: DescField): fc.Arbitrary<unknown> {
  if (field.message) return jsonOf(field.message)
  if (field.enum) {
    const [first] = field.enum.values
    return fc.constantFrom(...jsonNamesOf(field.enum).keys(), ...jsonNamesOf(field.enum).keys(), first!.name, 1)
  }
  switch (field.scalar) {
    case ScalarType.STRING:
      return TEXT
    case ScalarType.BYTES:
      return base64
    case ScalarType.BOOL:
      return fc.constantFrom(true, false, true, false, 'true', 1)
    default:
      return number
  }
}

const base64 = fc.oneof(
  fc.base64String({ maxLength: 12 }),
  fc.uint8Array({ maxLength: 9 }).map((octets) => Buffer.from(octets).toString('base64url')),
  fc.string({ unit: fc.constantFrom(...'Aa0+/-_= \n.'), maxLength: 9 }),
)
const number = fc.oneof(
  fc.nat(100),
  fc.integer(),
  fc.nat(2 ** 32),
  fc.double(),
  fc.constantFrom('1', 'NaN', -0, 1.5, 1e300),
)
const two = (max: number) => fc.nat(max).map((n) => String(n).padStart(2, '0'))
const year = fc
  .oneof(fc.integer({ min: 1970, max: 2100 }), fc.constantFrom(0, 1, 99, 1969, 9999))
  .map((n) => String(n).padStart(4, '0'))
const date = fc.tuple(year, two(13), two(32)).map((parts) => parts.join('-'))
const clock = fc.tuple(two(24), two(60), two(60)).map((parts) => parts.join(':'))
const time = fc.oneof(
  fc.date({ noInvalidDate: true, min: new Date(0), max: new Date('2100-01-01') }).map((date) => date.toISOString()),
  date,
  fc
    .tuple(
      date,
      fc.constantFrom('T', 't', ' '),
      clock,
      fc.constantFrom('', '.1', '.123456789', '.1234567890', '.'),
      fc.constantFrom('Z', 'z', '+01:00', '-23:59', '+24:00', '+0100', ''),
    )
    .map((parts) => parts.join('')),
)
