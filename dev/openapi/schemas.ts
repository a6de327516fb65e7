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
export class Schemas {
  readonly components: Record<string, Schema> = {}
  readonly #comments: Comments

  constructor(comments: Comments) {
    this.#comments = comments
  }

  #refer(name: string, make: () => Schema): Schema {
    if (!(name in this.components)) {
      const schema: Schema = {}
      this.components[name] = schema
      Object.assign(schema, make())
    }
    return { $ref: `#/components/schemas/${name}` }
  }

  /** The schema of a message, without the fields that are in the path. */
  message(desc: DescMessage, side: Side, inPath: readonly string[] = []): Schema {
    return this.#refer(schemaName(desc.name), () => {
      const fields = jsonFields(desc).filter(({ jsonName }) => !inPath.includes(jsonName))
      return {
        description: this.#comments.get(desc.typeName),
        type: 'object',
        properties: Object.fromEntries(fields.map((one) => [one.jsonName, this.#property(one, side)])),
        required: fields.filter((one) => isRequired(one, side)).map((one) => one.jsonName),
        additionalProperties: side === 'response',
      }
    })
  }

  /** A request adds the words that it takes to the type that both sides share. */
  #enumeration(desc: DescEnum, side: Side): Schema {
    const words = [...jsonNamesOf(desc).keys()]
    return { ...this.#openEnumeration(desc, words), ...(side === 'request' && { enum: words }) }
  }

  #openEnumeration(desc: DescEnum, words: string[]): Schema {
    const named = desc.values.filter(({ number }) => number !== 0)
    const meaningOf = (name: string) => this.#comments.get(`${desc.typeName}.${name}`)
    const meanings = named.map((value) => `- \`${enumName(value)}\`: ${meaningOf(value.name)}`)
    return this.#refer(desc.name, () => ({
      description: `${this.#comments.get(desc.typeName)}\n\n${meanings.join('\n')}`,
      type: 'string',
      'x-extensible-enum': words,
      // Go has no names inside a type: without the contract's prefix, words that two enums share would collide.
      'x-enum-varnames': named.map(({ name }) => name),
    }))
  }

  field(desc: DescField, side: Side): Schema {
    const description = this.#comments.get(`${desc.parent.typeName}.${desc.name}`)
    const { nullWhenAbsent, oneOrList, refuseEmpty } = shapeOf(desc)
    const bounds = side === 'request' ? boundsOf(desc) : {}
    const one = { ...this.#value(desc, side), ...bounds.value }
    if (desc.fieldKind === 'map') {
      return { description, type: 'object', ...bounds.whole, additionalProperties: one }
    }
    if (desc.fieldKind === 'list') {
      const list = { type: 'array', ...(refuseEmpty ? { minItems: 1 } : {}), ...bounds.whole, items: one }
      // Named, because generators make a type of it and would name two equal ones after the first.
      const named = () => this.#refer(`${desc.parent.name}${pascal(desc)}`, () => ({ description, oneOf: [one, list] }))
      return oneOrList ? { description, ...named() } : { description, ...list }
    }
    return { description, ...(nullWhenAbsent ? { oneOf: [one, { type: 'null' }] } : one) }
  }

  /** In a request `null` means the same as an absent field. */
  #property(desc: DescField, side: Side): Schema {
    const { description, ...schema } = this.field(desc, side)
    if (side === 'response' || isRequired(desc, side)) return { description, ...schema }
    if (typeof schema.type === 'string') return { description, ...schema, type: [schema.type, 'null'] }
    return { description, oneOf: [schema, { type: 'null' }] }
  }

  #value(desc: DescField, side: Side): Schema {
    if (desc.enum) return this.#enumeration(desc.enum, side)
    if (desc.message) return desc.message.typeName === TIMESTAMP ? time(side) : this.message(desc.message, side)
    const scalar = desc.scalar && SCALARS[desc.scalar]
    if (!scalar) throw new Error(`no schema for ${desc}`)
    return scalar
  }
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
