import { type DescField, type DescMessage, ScalarType } from '@bufbuild/protobuf'
import { type FieldFault, failFields } from '../../errors.ts'
import { shapeOf, TIMESTAMP } from './json-shape.ts'
import { nearestName } from './nearest-name.ts'

/**
 * The query string of a URL as the JSON tree of a request. A pair of a map is `metadata.order=7`, or
 * `metadata[order]=7`, as generated clients write it: OpenAPI has no other form. Throws `invalid_payload` for
 * parameters that are repeated, unknown or not percent-encoded.
 */
export function readQuery(fields: Map<string, DescField>, url: string): Record<string, unknown> {
  const tree: Record<string, unknown> = Object.create(null)
  const mark = url.indexOf('?')
  if (mark === -1) return tree
  const faults: FieldFault[] = []
  for (const part of url
    .slice(mark + 1)
    .split('&')
    .filter((part) => part !== '')) {
    const [given = '', value = ''] = part.split(/=(.*)/s)
    const [name, text] = [decode(given), decode(value)]
    if (name === undefined || text === undefined) {
      faults.push({ field: given.slice(0, MAX_NAME), message: 'is not valid percent-encoded UTF-8' })
      continue
    }
    const [, map = '', dotted, key = dotted] = PAIR_OF_MAP.exec(name) ?? []
    const field = fields.get(key === '' ? map : name)
    if (fields.get(map)?.fieldKind === 'map' && key) {
      const pairs = (tree[map] ?? Object.create(null)) as Record<string, string>
      tree[map] = pairs
      if (key in pairs) faults.push({ field: `${map}.${key}`.slice(0, MAX_NAME), message: 'is given more than once' })
      else pairs[key] = text
    } else if (field?.fieldKind === 'map')
      faults.push({ field: name, message: `needs a key, as in ${field.jsonName}.order=7` })
    else if (!field) faults.push({ field: name.slice(0, MAX_NAME), message: unknownMessage(name, [...fields.keys()]) })
    else if (text === '' && !MAY_BE_EMPTY.has(name)) faults.push({ field: name, message: EMPTY })
    else if (field.message && text.includes('@')) faults.push({ field: name, message: noTime(fields) })
    else if (field.fieldKind === 'list') tree[name] = [...((tree[name] as unknown[]) ?? []), jsonOf(field, text)]
    else if (name in tree) faults.push({ field: name, message: 'is given more than once' })
    else tree[name] = jsonOf(field, text)
  }
  if (faults.length > 0) throw failFields('invalid_payload', faults)
  return tree
}

/** Programs send these without a value for the first page. */
const MAY_BE_EMPTY = new Set(['cursor', 'limit'])
const EMPTY = 'must not be empty. To leave it out, send no such parameter'

/** A text like the example of another parameter was meant for that one. */
function noTime(fields: Map<string, DescField>): string {
  const meant = [...fields.values()].find((field) => shapeOf(field).example.includes('@'))
  return `must be a time${meant ? `; did you mean ${meant.jsonName}?` : ''}`
}

function unknownMessage(name: string, known: string[]): string {
  const near = nearestName(name.slice(0, MAX_NAME), known)
  return `is not a known query parameter; ${near ? `did you mean ${near}?` : `known ones are ${known.join(', ') || 'none'}`}`
}

/** `metadata.order` or `metadata[order]`. */
const PAIR_OF_MAP = /^(\w+)(?:\.(.*)|\[(.*)\])$/s
const MAX_NAME = 64

/** The fields of a request that its query may contain, by name: all that are not in its path. */
export function queryFields(desc: DescMessage, inPath: string[]): Map<string, DescField> {
  const fields = desc.fields.filter((field) => !inPath.includes(field.jsonName))
  for (const field of fields) {
    const isMapOfTexts = field.fieldKind === 'map' && field.scalar === ScalarType.STRING
    const isText = field.fieldKind !== 'map' && (!field.message || field.message.typeName === TIMESTAMP)
    if (!isText && !isMapOfTexts)
      throw new Error(`${desc.typeName}.${field.name} has a type that a query cannot contain`)
  }
  return new Map(fields.map((field) => [field.jsonName, field]))
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return undefined
  }
}

/** The JSON value of a text. A text without one stays a text, and the reader reports its fault. */
function jsonOf(field: DescField, text: string): unknown {
  if (field.scalar === ScalarType.BOOL) return text === 'true' ? true : text === 'false' ? false : text
  const isText = field.scalar === undefined || field.scalar === ScalarType.STRING || field.scalar === ScalarType.BYTES
  return isText || !/^-?\d{1,20}(\.\d{1,20})?$/.test(text) ? text : Number(text)
}
