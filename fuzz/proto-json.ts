import { type DescEnum, type DescField, type DescMessage, ScalarType } from '@bufbuild/protobuf'
import { jsonFields, jsonNamesOf, shapeOf, TIMESTAMP } from '../server/http/rest/json-shape.ts'

/** What Protobuf's own JSON accepts and the JSON of `/api/v1` refuses. The message is the reason. */
export class OnlyInProtobuf extends Error {}

/**
 * The JSON of `/api/v1` in Protobuf's own mapping. What neither accepts stays as it is. Throws OnlyInProtobuf for what
 * we refuse although Protobuf accepts it.
 */
export function asProtoJson(desc: DescMessage, json: unknown): unknown {
  if (desc.typeName === TIMESTAMP) return timeOf(json)
  if (!isObject(json)) return json
  const fields = new Map(jsonFields(desc).map((field) => [field.jsonName, field]))
  const members = Object.entries(json).map(([name, value]) => {
    const field = fields.get(name)
    if (field) return [name, value === null ? null : fieldOf(field, value)]
    if (desc.fields.some((field) => [field.name, field.jsonName].includes(name)))
      throw new OnlyInProtobuf('JSON has one name for each field, and none for the mask of an update')
    return [name, value]
  })
  return Object.fromEntries(members)
}

function fieldOf(field: DescField, json: unknown): unknown {
  if (field.fieldKind === 'map') {
    // PHP writes an empty map as an empty list.
    if (Array.isArray(json) && json.length === 0) return {}
    if (!isObject(json)) return json
    return Object.fromEntries(Object.entries(json).map(([name, value]) => [name, singleOf(field, value)]))
  }
  if (field.fieldKind !== 'list') return singleOf(field, json)
  const { oneOrList, refuseEmpty } = shapeOf(field)
  if (oneOrList && typeof json === 'string') return [json]
  if (!Array.isArray(json)) return json
  if (refuseEmpty && json.length === 0) throw new OnlyInProtobuf('an empty list would mean the same as an absent one')
  return json.map((item) => singleOf(field, item))
}

/** One value of a field: the value itself, or that of its list or map. */
function singleOf(field: DescField, json: unknown): unknown {
  if (field.message) return asProtoJson(field.message, json)
  if (field.enum) return enumOf(field.enum, json)
  if (field.scalar === ScalarType.BYTES && typeof json === 'string' && !BASE64.test(json))
    throw new OnlyInProtobuf('base64 has no white space, no half groups and padding only at its end')
  const isNumber = field.scalar !== ScalarType.STRING && field.scalar !== ScalarType.BYTES
  if (isNumber && typeof json === 'string') throw new OnlyInProtobuf('a number is no text')
  const { min, max } = shapeOf(field)
  if (max > 0 && typeof json === 'number' && !(json >= min && json <= max))
    throw new OnlyInProtobuf('the contract has a range for this number')
  return json
}

/** RFC 4648 4 and 5, padded or not. */
const BASE64 = /^(?:[\w+/-]{4})*(?:[\w+/-]{2}(?:==)?|[\w+/-]{3}=?)?$/

function enumOf(desc: DescEnum, json: unknown): unknown {
  if (desc.values.some(({ name }) => name === json) || Number.isInteger(json))
    throw new OnlyInProtobuf('a value of an enum has one name')
  return jsonNamesOf(desc).get(json as string) ?? json
}

/** A date alone is its first moment, the letters may be small, and we keep milliseconds. */
function timeOf(json: unknown): unknown {
  if (typeof json !== 'string') return json
  const [, year, month, day] = /^(\d{4})-(\d\d)-(\d\d)/.exec(json) ?? []
  const days = new Date(Date.UTC(2_000 + (Number(year) % 400), Number(month), 0)).getUTCDate()
  if (Number(day) > days) throw new OnlyInProtobuf('a day must be in the calendar')
  const time = /^\d{4}-\d\d-\d\d$/.test(json) ? `${json}T00:00:00Z` : json
  return time.toUpperCase().replace(/(\.\d{3})\d{1,6}(?!\d)/, '$1')
}

function isObject(json: unknown): json is Record<string, unknown> {
  return typeof json === 'object' && json !== null && !Array.isArray(json)
}
