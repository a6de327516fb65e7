import { type DescEnum, type DescField, type DescMessage, type Message, ScalarType } from '@bufbuild/protobuf'
import { type Timestamp, timestampMs } from '@bufbuild/protobuf/wkt'
import { enumName, shapeOf, TIMESTAMP, unsupported } from './json-shape.ts'

/** Turns the value of a field into what `JSON.stringify` writes. */
type Writer = (value: never) => unknown

/**
 * A message as the JSON of `/api/v1`. Fields are in the order of the contract, so that equal messages give equal bytes.
 */
export function writeMessage(desc: DescMessage, message: Message): unknown {
  return createMessageWriter(desc)(message as never)
}

interface FieldWriter {
  localName: string
  jsonName: string
  write: Writer
  /** Written for an absent field; undefined leaves it out. */
  absent: null | undefined
  /** Whether an empty list or map is left out. */
  omitEmpty: boolean
}

const messageWriters = new Map<DescMessage, Writer>()

/** Created once for each message. Throws for a field that the JSON cannot represent. */
export function createMessageWriter(desc: DescMessage): Writer {
  const existing = messageWriters.get(desc)
  if (existing) return existing
  const fields: FieldWriter[] = []
  const writer = (message: Record<string, unknown>) => writeFields(fields, message)
  messageWriters.set(desc, writer)
  for (const field of desc.fields) {
    if (field.oneof) throw unsupported(field, 'a oneof')
    const { omitEmpty, nullWhenAbsent } = shapeOf(field)
    const absent = nullWhenAbsent ? null : undefined
    const { localName, jsonName } = field
    fields.push({ localName, jsonName, write: fieldWriter(field), absent, omitEmpty })
  }
  return writer
}

function writeFields(fields: FieldWriter[], message: Record<string, unknown>) {
  const json: Record<string, unknown> = {}
  for (const { localName, jsonName, write, absent, omitEmpty } of fields) {
    const value = message[localName]
    if (value === undefined) {
      if (absent === null) json[jsonName] = null
    } else if (!omitEmpty || Object.keys(value as object).length > 0) json[jsonName] = write(value as never)
  }
  return json
}

function fieldWriter(field: DescField): Writer {
  if (field.fieldKind === 'map') return mapWriter(field)
  if (field.fieldKind !== 'list') return valueWriter(field)
  const write = valueWriter(field)
  return write === same ? same : (list: never[]) => list.map((item) => write(item))
}

function mapWriter(field: DescField & { fieldKind: 'map' }): Writer {
  if (field.mapKey !== ScalarType.STRING) throw unsupported(field, 'a map whose keys are no strings')
  const write = valueWriter(field)
  if (write === same) return same
  return (map: Record<string, never>) =>
    Object.fromEntries(Object.entries(map).map(([key, value]) => [key, write(value)]))
}

const same: Writer = (value: unknown) => value

function valueWriter(field: DescField): Writer {
  const { scalar, enum: desc, message } = field
  if (desc) return enumWriter(desc)
  if (message) return message.typeName === TIMESTAMP ? writeTime : createMessageWriter(message)
  const write = scalar && SCALARS[scalar]
  if (!write) throw unsupported(field, String(scalar && ScalarType[scalar]))
  return write
}

const SCALARS: { [scalar in ScalarType]?: Writer } = {
  [ScalarType.STRING]: same,
  [ScalarType.BOOL]: same,
  [ScalarType.UINT32]: same,
  [ScalarType.INT32]: same,
  [ScalarType.DOUBLE]: same,
  [ScalarType.BYTES]: (bytes: Uint8Array) =>
    Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('base64'),
}

function enumWriter(desc: DescEnum): Writer {
  const names = new Map(desc.values.map((value) => [value.number, enumName(value)]))
  return (number: number) => names.get(number)
}

/** Always with milliseconds, which Protobuf's own mapping omits from a whole second. */
function writeTime(time: Timestamp): string {
  return new Date(timestampMs(time)).toISOString()
}
