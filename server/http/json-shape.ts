import { type DescEnum, type DescEnumValue, type DescField, getOption } from '@bufbuild/protobuf'
import { type JsonShape, json } from '../../gen/verdict/v1/options_pb.ts'

// How the JSON of `/api/v1` represents the contract. Reader, writer and the OpenAPI document use only these rules.

export const TIMESTAMP = 'google.protobuf.Timestamp'

/** How a field differs from the plain mapping. */
export function shapeOf(field: DescField): JsonShape {
  return getOption(field, json)
}

/** The JSON name of an enum value: `DELIVERY_STATUS_DELIVERED` is `delivered`. */
export function enumName(value: DescEnumValue): string {
  return value.name.slice(value.parent.sharedPrefix?.length ?? 0).toLowerCase()
}

/** The names that a caller may use, in the order of the contract. The zero value means that there is none. */
export function enumNames(desc: DescEnum): Map<string, number> {
  const named = desc.values.filter((value) => value.number !== 0)
  return new Map(named.map((value) => [enumName(value), value.number]))
}

/** The error for a field that this JSON cannot represent; it stops the start. */
export function unsupported(field: DescField, what: string): Error {
  return new Error(`${field.parent.typeName}.${field.name}: ${what} has no place in the JSON of /api/v1`)
}
