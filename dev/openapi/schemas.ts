import { type DescEnum, type DescField, type DescMessage, ScalarType } from '@bufbuild/protobuf'
import { enumName, jsonFields, jsonNamesOf, shapeOf, TIMESTAMP } from '../../server/http/rest/json-shape.ts'
import { boundsOf } from './bounds.ts'
import type { Comments } from './comments.ts'
import type { Schema } from './schema.ts'
import { schemaName } from './schema-names.ts'

/**
 * Request schemas are closed, so that a typo is an error. Response schemas are open, so that they can grow: a client
 * that was generated today must read the members and the words of tomorrow.
 */
export type Side = 'request' | 'response'

const SCALARS: { [scalar in ScalarType]?: Schema } = {
  [ScalarType.STRING]: { type: 'string' },
  [ScalarType.BOOL]: { type: 'boolean' },
  [ScalarType.BYTES]: { type: 'string', contentEncoding: 'base64' },
  [ScalarType.UINT32]: { type: 'integer', minimum: 0, maximum: 2 ** 32 - 1 },
  [ScalarType.INT32]: { type: 'integer', minimum: -(2 ** 31), maximum: 2 ** 31 - 1 },
  [ScalarType.DOUBLE]: { type: 'number' },
}

/** Collects the schemas of messages and enums, by name, in the JSON of `/api/v1`. */
export function createSchemas(comments: Comments) {
  const components: Record<string, Schema> = {}

  function refer(name: string, make: () => Schema): Schema {
    if (!(name in components)) {
      components[name] = {}
      Object.assign(components[name]!, make())
    }
    return { $ref: `#/components/schemas/${name}` }
  }

  /** The schema of a message, without the fields that are in the path. */
  const message = (desc: DescMessage, side: Side, inPath: readonly string[] = []): Schema =>
    refer(schemaName(desc.name), () => {
      const fields = jsonFields(desc).filter(({ jsonName }) => !inPath.includes(jsonName))
      return {
        description: comments.get(desc.typeName),
        type: 'object',
        properties: Object.fromEntries(fields.map((one) => [one.jsonName, property(one, side)])),
        required: fields.filter((one) => isRequired(one, side)).map((one) => one.jsonName),
        additionalProperties: side === 'response',
      }
    })

  /** A request adds the words that it takes to the type that both sides share. */
  const enumeration = (desc: DescEnum, side: Side): Schema => ({
    ...openEnumeration(desc),
    ...(side === 'request' && { enum: [...jsonNamesOf(desc).keys()] }),
  })

  const openEnumeration = (desc: DescEnum): Schema =>
    refer(desc.name, () => ({
      description: `${comments.get(desc.typeName)}\n\n${meanings(desc)}`,
      type: 'string',
      'x-extensible-enum': [...jsonNamesOf(desc).keys()],
      // Go has no names inside a type: without the contract's prefix, words that two enums share would collide.
      'x-enum-varnames': desc.values.filter(({ number }) => number !== 0).map(({ name }) => name),
    }))

  function meanings(desc: DescEnum): string {
    const named = desc.values.filter((value) => value.number !== 0)
    return named
      .map((value) => `- \`${enumName(value)}\`: ${comments.get(`${desc.typeName}.${value.name}`)}`)
      .join('\n')
  }

  function field(desc: DescField, side: Side): Schema {
    const description = comments.get(`${desc.parent.typeName}.${desc.name}`)
    const { nullWhenAbsent, oneOrList, refuseEmpty } = shapeOf(desc)
    const bounds = side === 'request' ? boundsOf(desc) : {}
    const one = { ...value(desc, side), ...bounds.value }
    if (desc.fieldKind === 'map') {
      return { description, type: 'object', ...bounds.whole, additionalProperties: one }
    }
    if (desc.fieldKind === 'list') {
      const list = { type: 'array', ...(refuseEmpty ? { minItems: 1 } : {}), ...bounds.whole, items: one }
      // Named, because generators make a type of it and would name two equal ones after the first.
      const named = () => refer(`${desc.parent.name}${pascal(desc)}`, () => ({ description, oneOf: [one, list] }))
      return oneOrList ? { description, ...named() } : { description, ...list }
    }
    return { description, ...(nullWhenAbsent ? { oneOf: [one, { type: 'null' }] } : one) }
  }

  /** In a request `null` means the same as an absent field. */
  function property(desc: DescField, side: Side): Schema {
    const { description, ...schema } = field(desc, side)
    if (side === 'response' || isRequired(desc, side)) return { description, ...schema }
    if (typeof schema.type === 'string') return { description, ...schema, type: [schema.type, 'null'] }
    return { description, oneOf: [schema, { type: 'null' }] }
  }

  function value(desc: DescField, side: Side): Schema {
    if (desc.enum) return enumeration(desc.enum, side)
    if (desc.message) return desc.message.typeName === TIMESTAMP ? time(side) : message(desc.message, side)
    return { ...SCALARS[desc.scalar!] }
  }

  return { components, message, field }
}

const pascal = ({ localName }: DescField) => localName.charAt(0).toUpperCase() + localName.slice(1)

/** A request may contain a date without a time. */
function time(side: Side): Schema {
  return side === 'response' ? { type: 'string', format: 'date-time' } : { type: 'string' }
}

/**
 * Whether a field is required. In a response: every field that always has a value. In a request: fields without
 * presence (the service cannot tell absent from empty, and refuses both), lists that must not be empty, and those that
 * the table of limits requires.
 */
function isRequired(field: DescField, side: Side): boolean {
  const { omitEmpty, nullWhenAbsent } = shapeOf(field)
  const plural = field.fieldKind === 'list' || field.fieldKind === 'map'
  if (side === 'request') {
    const { required, whole } = boundsOf(field)
    return required ?? (plural ? Number(whole?.minItems ?? 0) > 0 : !field.proto.proto3Optional && !field.message)
  }
  if (plural) return !omitEmpty
  // A time that may be absent is declared `optional`, like every other such field.
  const always = !field.message || field.message.typeName === TIMESTAMP
  return !nullWhenAbsent && always && !field.proto.proto3Optional
}
