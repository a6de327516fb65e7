import { type DescEnum, type DescEnumValue, type DescField, type DescMessage, getOption } from '@bufbuild/protobuf'
import { type JsonShape, json } from '../../../gen/verdict/v1/options_pb.ts'

// Defines how the JSON of `/api/v1` represents the proto messages. The JSON reader, the JSON writer and the OpenAPI
// generator all use these rules and no others.

export const TIMESTAMP = 'google.protobuf.Timestamp'

/** A field of this type names the fields that a request changes. JSON has no member for it: it names those given. */
const FIELD_MASK = 'google.protobuf.FieldMask'

/** The fields of a message that JSON has a member for. */
export const jsonFields = (desc: DescMessage): DescField[] =>
  desc.fields.filter(({ message }) => message?.typeName !== FIELD_MASK)

/** The field of a request that names the others to change; undefined when there is none. */
export const maskOf = (desc: DescMessage): DescField | undefined =>
  desc.fields.find(({ message }) => message?.typeName === FIELD_MASK)

/** Returns the field's `json` option: how its JSON differs from the default mapping of Protobuf. */
export function shapeOf(field: DescField): JsonShape {
  return getOption(field, json)
}

/** Returns the JSON name of an enum value. For `DELIVERY_STATUS_DELIVERED` it is `delivered`. */
export function enumName(value: DescEnumValue): string {
  return value.name.slice(value.parent.sharedPrefix?.length ?? 0).toLowerCase()
}

/**
 * Maps the JSON name of each enum value to its number, in the order of the contract. The zero value, which means "not
 * set", has no name.
 */
export function jsonNamesOf(desc: DescEnum): Map<string, number> {
  const named = desc.values.filter((value) => value.number !== 0)
  return new Map(named.map((value) => [enumName(value), value.number]))
}

/** Creates the error for a field that the JSON cannot represent. It is thrown when the API starts. */
export function unsupported(field: DescField, what: string): Error {
  return new Error(`${field.parent.typeName}.${field.name}: ${what} has no place in the JSON of /api/v1`)
}
