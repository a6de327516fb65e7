import { type DescField, type DescMessage, ScalarType } from '@bufbuild/protobuf'
import { WireType } from '@bufbuild/protobuf/wire'
import { fail } from '../../errors.ts'
import { MAX_DEPTH, MAX_OBJECTS, MAX_VALUES, tooDeep, tooManyObjects, tooManyValues } from '../body/request-bounds.ts'

/** How a field of the contract is written. */
interface WireField {
  type: WireType
  /** Whether a list of numbers may also be written in one piece, in which an element takes at least one byte. */
  isPackable: boolean
  /** The fields of a message, or of an entry of a map. */
  fields?: WireFields
  isMapEntry?: boolean
}

type WireFields = Map<number, WireField>

/** The position in a message, and the counts so far. */
interface WireReading {
  bytes: Uint8Array
  at: number
  values: number
  objects: number
}

/**
 * Counts the contents of a Protobuf message without creating anything, and returns the counts. Throws `invalid_payload`
 * for more than a request may hold, and for bytes that Protobuf does not allow or that two readers may understand
 * differently: a known field of another wire type, a field that ends after its message, a group. The library reads the
 * same fields in what passes.
 */
export function checkProtobuf(desc: DescMessage, bytes: Uint8Array): { values: number; objects: number } {
  const reading = { bytes, at: 0, values: 0, objects: 0 }
  checkMessage(reading, wireFieldsOf(desc), bytes.length, 0)
  return reading
}

function checkMessage(reading: WireReading, fields: WireFields, end: number, depth: number): void {
  if (depth > MAX_DEPTH) throw tooDeep()
  while (reading.at < end) {
    const tag = readUint32(reading)
    const number = tag >>> 3
    const type: WireType = tag & 7
    const field = fields.get(number)
    if (number === 0) throw notProtobuf()
    if (field && type !== field.type && !(field.isPackable && type === WireType.LengthDelimited)) throw notProtobuf()
    count(reading, 1)
    if (type === WireType.LengthDelimited) checkDelimited(reading, field, end, depth)
    else skipNumber(reading, type)
    if (reading.at > end) throw notProtobuf()
  }
}

function checkDelimited(reading: WireReading, field: WireField | undefined, end: number, depth: number): void {
  const length = readUint32(reading)
  const until = reading.at + length
  if (until > end) throw notProtobuf()
  if (field?.fields) {
    if (!field.isMapEntry && ++reading.objects > MAX_OBJECTS) throw tooManyObjects()
    checkMessage(reading, field.fields, until, depth + 1)
  } else if (field?.isPackable) {
    count(reading, length)
  }
  reading.at = until
}

function count(reading: WireReading, values: number): void {
  reading.values += values
  if (reading.values > MAX_VALUES) throw tooManyValues()
}

const MAX_VARINT_BYTES = 10

function skipNumber(reading: WireReading, type: WireType): void {
  if (type === WireType.Bit64) reading.at += 8
  else if (type === WireType.Bit32) reading.at += 4
  else if (type === WireType.Varint) skipVarint(reading)
  else throw notProtobuf()
}

function skipVarint(reading: WireReading): void {
  const start = reading.at
  while ((reading.bytes[reading.at++] ?? 0) >= 0x80) {
    if (reading.at - start === MAX_VARINT_BYTES) throw notProtobuf()
  }
}

/** A tag or a length: a varint of at most 32 bits. */
function readUint32(reading: WireReading): number {
  let value = 0
  for (let shift = 0; shift < 35; shift += 7) {
    const byte = reading.bytes[reading.at++]
    if (byte === undefined || (shift === 28 && byte > 0x0f)) break
    value += (byte & 0x7f) * 2 ** shift
    if (byte < 0x80) return value
  }
  throw notProtobuf()
}

const wireFields = new Map<DescMessage, WireFields>()

/** Created once for each message, and stored before its fields are complete: a message may contain itself. */
function wireFieldsOf(desc: DescMessage): WireFields {
  const existing = wireFields.get(desc)
  if (existing) return existing
  const fields: WireFields = new Map()
  wireFields.set(desc, fields)
  for (const field of desc.fields) fields.set(field.number, wireFieldOf(field))
  return fields
}

function wireFieldOf(field: DescField): WireField {
  if (field.fieldKind === 'map') {
    const key = { type: wireTypeOf(field.mapKey), isPackable: false }
    const value = wireValueOf(field)
    const fields: WireFields = new Map([
      [1, key],
      [2, value],
    ])
    return { type: WireType.LengthDelimited, isPackable: false, fields, isMapEntry: true }
  }
  const value = wireValueOf(field)
  return { ...value, isPackable: field.fieldKind === 'list' && value.type !== WireType.LengthDelimited }
}

/** One value: the field's own, an element of its list, or a value of its map. */
function wireValueOf({ message, scalar }: DescField): WireField {
  if (message) return { type: WireType.LengthDelimited, isPackable: false, fields: wireFieldsOf(message) }
  return { type: wireTypeOf(scalar), isPackable: false }
}

/** A field without a scalar type is an enum. */
function wireTypeOf(scalar: ScalarType | undefined): WireType {
  return (scalar && WIRE_TYPES[scalar]) ?? WireType.Varint
}

/** All other types are varints. */
const WIRE_TYPES: { [scalar in ScalarType]?: WireType } = {
  [ScalarType.STRING]: WireType.LengthDelimited,
  [ScalarType.BYTES]: WireType.LengthDelimited,
  [ScalarType.DOUBLE]: WireType.Bit64,
  [ScalarType.FIXED64]: WireType.Bit64,
  [ScalarType.SFIXED64]: WireType.Bit64,
  [ScalarType.FLOAT]: WireType.Bit32,
  [ScalarType.FIXED32]: WireType.Bit32,
  [ScalarType.SFIXED32]: WireType.Bit32,
}

const notProtobuf = () => fail('invalid_payload', 'The message is not valid Protobuf for this method.')
