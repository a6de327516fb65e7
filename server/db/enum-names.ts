import type { DescEnum } from '@bufbuild/protobuf'
import type { GenEnum } from '@bufbuild/protobuf/codegenv2'

// The contract names an enum value DELIVERY_STATUS_DELIVERED. JSON, the database and the log name it `delivered`.

const short = (schema: DescEnum, name: string) => name.slice((schema.sharedPrefix ?? '').length).toLowerCase()

/** The short names of an enum, without the zero value. */
export function shortNames(schema: DescEnum): [string, ...string[]] {
  const names = schema.values.filter((value) => value.number !== 0).map((value) => short(schema, value.name))
  return names as [string, ...string[]]
}

export interface EnumNames<E extends number> {
  /** Whether the contract has this value; the zero value does not count. */
  has(value: E): boolean
  name(value: E): string
  value(name: string): E
}

/**
 * Maps the numbers of an enum to their short names and back. `name` and `value` throw for one that the contract
 * lacks.
 */
export function enumNames<E extends number>(schema: GenEnum<E>): EnumNames<E> {
  const byNumber = new Map(schema.values.map((value) => [value.number, short(schema, value.name)]))
  const byName = new Map([...byNumber].map(([number, name]) => [name, number as E]))
  const required = <T>(entry: T | undefined, key: unknown) => {
    if (entry === undefined) throw new Error(`${schema.typeName} has no ${key}`)
    return entry
  }
  return {
    has: (value) => value !== 0 && byNumber.has(value),
    name: (value) => required(byNumber.get(value), value),
    value: (name) => required(byName.get(name), name),
  }
}
