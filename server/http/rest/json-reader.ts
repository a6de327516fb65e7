import { create, type DescField, type DescMessage, getOption, type Message, ScalarType } from '@bufbuild/protobuf'
import { FieldMaskSchema, timestampFromMs } from '@bufbuild/protobuf/wkt'
import { type JsonShape, unknown_names } from '../../../gen/verdict/v1/options_pb.ts'
import { parseTime, timeFault } from '../../async/time-text.ts'
import { blame, isFull, noFaults, putAside, type RequestFaults } from '../body/faults.ts'
import { MAX_OBJECTS } from '../body/request-bounds.ts'
import { jsonFields, jsonNamesOf, maskOf, shapeOf, TIMESTAMP, unsupported } from './json-shape.ts'
import { nearestName } from './nearest-name.ts'

/**
 * Turns a JSON value into the value of a field. Adds faults to `faults` under `path`; the result is then not usable.
 */
type Reader = (json: unknown, path: string, faults: RequestFaults) => unknown

const MAX_NAME = 64

/** Reads a message from JSON and returns all its faults, each with the path of its field. */
export function readJsonMessage(desc: DescMessage, json: unknown) {
  const faults = noFaults()
  const message = createMessageReader(desc)(json, '', faults) as Message
  return { message, faults }
}

interface FieldReader {
  localName: string
  read: Reader
}

const messageReaders = new Map<DescMessage, Reader>()

/**
 * Created once for each message: reading then runs closures instead of descriptors. Throws for a field it cannot read.
 */
export function createMessageReader(desc: DescMessage): Reader {
  const existing = messageReaders.get(desc)
  if (existing) return existing
  const fields = new Map<string, FieldReader>()
  const readMembers: Reader = (json, path, faults) => readFields(desc, fields, json, path, faults)
  const mask = maskOf(desc)
  const reader = mask ? maskingReader(mask, readMembers) : readMembers
  messageReaders.set(desc, reader)
  for (const field of jsonFields(desc)) {
    if (field.oneof) throw unsupported(field, 'a oneof')
    fields.set(field.jsonName, { localName: field.localName, read: fieldReader(field) })
  }
  return reader
}

function readFields(
  desc: DescMessage,
  fields: Map<string, FieldReader>,
  json: unknown,
  path: string,
  faults: RequestFaults,
) {
  if (!isObject(json)) return blame(faults, path, 'must be an object')
  const message = create(desc) as Message & Record<string, unknown>
  for (const name of Object.keys(json)) {
    const field = fields.get(name)
    if (!field) blameUnknown(faults, fields, desc, path, name)
    else if (json[name] !== null) {
      message[field.localName] = field.read(json[name], path ? `${path}.${name}` : name, faults)
    }
  }
  return message
}

/** Also names the members that the JSON has. */
const maskingReader = (mask: DescField, readMembers: Reader): Reader => {
  return (json, path, faults) => {
    const message = readMembers(json, path, faults)
    const updateMask = isObject(json) ? create(FieldMaskSchema, { paths: givenNames(json) }) : undefined
    return Object.assign(message ?? {}, { [mask.localName]: updateMask })
  }
}

const givenNames = (json: object) => Object.entries(json).flatMap(([name, value]) => (value === null ? [] : [name]))

function blameUnknown(
  faults: RequestFaults,
  fields: Map<string, FieldReader>,
  desc: DescMessage,
  path: string,
  name: string,
) {
  if (isFull(faults)) return blame(faults, path, '')
  const short = name.slice(0, MAX_NAME)
  const meant = nearestName(short, [...fields.keys()])
  const hint = foreignHint(fields, desc, short) || (meant ? `; did you mean "${meant}"?` : '')
  blame(faults, path ? `${path}.${short}` : short, `is not a known field${hint}`)
}

const plain = (text: string) => text.replaceAll(/[_-]/g, '').toLowerCase()

/** The hint of the contract for a name that callers know from another service; it goes before a name that is near. */
function foreignHint(fields: Map<string, FieldReader>, { file }: DescMessage, name: string): string {
  for (const unknown of getOption(file, unknown_names)) {
    const [, names, beside, hint] = /^(.+) beside (\w+): (.+)$/.exec(unknown) ?? []
    if (!names || !beside) throw new Error(`unknown_names of the contract: ${unknown}`)
    if (names.split(', ').includes(plain(name)) && fields.has(beside)) return `; ${hint}`
  }
  return ''
}

function fieldReader(field: DescField): Reader {
  if (field.fieldKind === 'map') return mapReader(field)
  if (field.fieldKind !== 'list') return valueReader(field)
  const read = valueReader(field)
  const shape = shapeOf(field)
  if (shape.oneOrList && field.scalar !== ScalarType.STRING)
    throw unsupported(field, 'one or a list of other than strings')
  return shape.eachAlone ? aloneReader(field, read) : listReader(read, shape)
}

function listReader(read: Reader, shape: JsonShape): Reader {
  const { oneOrList, refuseEmpty } = shape
  return (json, path, faults) => {
    if (refuseEmpty && Array.isArray(json) && json.length === 0) return blame(faults, path, EMPTY)
    if (Array.isArray(json)) return json.map((item, i) => read(item, `${path}[${i}]`, faults))
    if (!oneOrList) return blame(faults, path, 'must be a list')
    return typeof json === 'string'
      ? [json]
      : blame(faults, path, `must be a string or a list of strings${exampleFor(json, shape)}`)
  }
}

/** The example of the contract, for a caller who sends an object in the place of a text. */
const exampleFor = (json: unknown, { example }: JsonShape) => (example && isObject(json) ? `, such as ${example}` : '')

const EMPTY = 'must not be empty. To leave it as it is, leave it out'

/** An element that cannot be read becomes an empty message, so that the others keep their places. */
function aloneReader(field: DescField, readOne: Reader): Reader {
  const { message: desc } = field
  if (!desc) throw unsupported(field, 'a list of plain values that stand alone')
  return (json, path, faults) => {
    if (!Array.isArray(json)) return blame(faults, path, 'must be a list')
    if (json.length > MAX_OBJECTS) return blame(faults, path, `holds more than ${MAX_OBJECTS} elements`)
    return json.map((item, index) => {
      const own = noFaults()
      const message = readOne(item, '', own)
      return putAside(faults, path, index, own) ? create(desc) : message
    })
  }
}

function mapReader(field: DescField & { fieldKind: 'map' }): Reader {
  if (field.mapKey !== ScalarType.STRING) throw unsupported(field, 'a map whose keys are no strings')
  const read = valueReader(field)
  return (json, path, faults) => {
    // Without a prototype, the key "__proto__" is a key like any other.
    const map: Record<string, unknown> = Object.create(null)
    // PHP writes an empty map as an empty list.
    if (Array.isArray(json) && json.length === 0) return map
    if (!isObject(json)) return blame(faults, path, 'must be an object, such as {"name": "value"}')
    for (const name of Object.keys(json))
      map[name] = read(json[name], `${path}[${JSON.stringify(name.slice(0, MAX_NAME))}]`, faults)
    return map
  }
}

function valueReader(field: DescField): Reader {
  const { scalar, enum: desc, message } = field
  if (desc) return enumReader(jsonNamesOf(desc))
  if (message) return message.typeName === TIMESTAMP ? readTime : createMessageReader(message)
  if (scalar === ScalarType.STRING) return textReader(shapeOf(field))
  const { min, max } = shapeOf(field)
  const read = max > 0 ? wholeNumber(min, max) : scalar && SCALARS[scalar]
  if (!read) throw unsupported(field, String(scalar && ScalarType[scalar]))
  return read
}

function textReader(shape: JsonShape): Reader {
  return (json, path, faults) =>
    typeof json === 'string' ? json : blame(faults, path, `must be a string${exampleFor(json, shape)}`)
}

const SCALARS: { [scalar in ScalarType]?: Reader } = {
  [ScalarType.BOOL]: (json, path, faults) =>
    typeof json === 'boolean' ? json : blame(faults, path, 'must be true or false'),
  [ScalarType.BYTES]: readBase64,
  [ScalarType.UINT32]: wholeNumber(0, 2 ** 32 - 1),
  [ScalarType.INT32]: wholeNumber(-(2 ** 31), 2 ** 31 - 1),
  [ScalarType.DOUBLE]: (json, path, faults) =>
    typeof json === 'number' ? json : blame(faults, path, 'must be a number'),
}

function wholeNumber(min: number, max: number): Reader {
  return (json, path, faults) =>
    Number.isInteger(json) && (json as number) >= min && (json as number) <= max
      ? json
      : blame(faults, path, `must be a whole number from ${min} to ${max}`)
}

function enumReader(numbers: Map<string, number>): Reader {
  const message = `must be one of ${[...numbers.keys()].join(', ')}`
  return (json, path, faults) => numbers.get(json as string) ?? blame(faults, path, message)
}

/** A multiple of four. What is no base64 is read up to the end of the piece with the first fault. */
const BASE64_PIECE = 65_536
const OCTETS_OF_PIECE = (BASE64_PIECE / 4) * 3

/** Standard or URL alphabet, padded or not (RFC 4648 4 and 5). */
function readBase64(json: unknown, path: string, faults: RequestFaults) {
  if (typeof json !== 'string') return blame(faults, path, 'must be a string of base64')
  const bytes = Buffer.allocUnsafe(Math.ceil(json.length / 4) * 3)
  for (let at = 0; at < json.length; at += BASE64_PIECE) {
    const piece = json.slice(at, at + BASE64_PIECE)
    const promised = at + BASE64_PIECE < json.length ? OCTETS_OF_PIECE : octetsPromised(piece)
    if (bytes.write(piece, (at / 4) * 3, 'base64') === promised) continue
    return blame(faults, path, isWrapped(piece) ? 'holds line breaks. Send the base64 without them' : 'is not base64')
  }
  return bytes.subarray(0, octetsPromised(json))
}

/** Buffer skips characters outside of base64: fewer octets than the characters promise reveal them. */
function octetsPromised(base64: string): number | undefined {
  const padding = base64.endsWith('==') ? 2 : base64.endsWith('=') ? 1 : 0
  const characters = base64.length - padding
  if (characters % 4 === 1 || (padding > 0 && base64.length % 4 !== 0)) return undefined
  return Math.floor((characters * 3) / 4)
}

function isWrapped(piece: string): boolean {
  const base64 = piece.replace(/[\r\n]+/g, '')
  const groups = base64.slice(0, base64.length - (base64.length % 4))
  return base64.length < piece.length && Buffer.from(groups, 'base64').length === octetsPromised(groups)
}

/** RFC 3339, or a date alone, which means its first moment in UTC. */
function readTime(json: unknown, path: string, faults: RequestFaults) {
  const text = typeof json === 'string' ? json : ''
  const ms = parseTime(text)
  return ms === undefined ? blame(faults, path, timeFault(text)) : timestampFromMs(ms)
}

export function isObject(json: unknown): json is Record<string, unknown> {
  return typeof json === 'object' && json !== null && !Array.isArray(json)
}
