import { type DescEnum, type DescEnumValue, type DescField, getOption } from '@bufbuild/protobuf'
import { type JsonShape, json } from '../../gen/verdict/v1/options_pb.ts'

// What the JSON of `/api/v1` makes of the contract. Reader, writer and the OpenAPI document follow these alone.

export const TIMESTAMP = 'google.protobuf.Timestamp'

/** How a field departs from the plain mapping. */
export function shapeOf(field: DescField): JsonShape {
  return getOption(field, json)
}

/** The word of an enum value: `DELIVERY_STATUS_DELIVERED` is `delivered`. */
export function wordOf(value: DescEnumValue): string {
  return value.name.slice(value.parent.sharedPrefix?.length ?? 0).toLowerCase()
}

/** The words a caller may use, in the order of the contract: the zero value says that there is none. */
export function wordsOf(desc: DescEnum): Map<string, number> {
  const named = desc.values.filter((value) => value.number !== 0)
  return new Map(named.map((value) => [wordOf(value), value.number]))
}

/** For a field that has no place in this JSON; it stops the start. */
export function unsupported(field: DescField, what: string): Error {
  return new Error(`${field.parent.typeName}.${field.name}: ${what} has no place in the JSON of /api/v1`)
}
