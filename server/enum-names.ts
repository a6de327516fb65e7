import type { DescEnum } from '@bufbuild/protobuf'

// An enum value is DELIVERY_STATUS_DELIVERED in the contract and `delivered` in JSON, in the database and in the log.

const short = (schema: DescEnum, name: string) => name.slice((schema.sharedPrefix ?? '').length).toLowerCase()

/** The short words of an enum, without the zero value. */
export function shortWords(schema: DescEnum): string[] {
  return schema.values.filter((value) => value.number !== 0).map((value) => short(schema, value.name))
}

export interface Words<E extends number> {
  /** Whether the contract has this value; the zero value does not count. */
  has(value: E): boolean
  word(value: E): string
  value(word: string): E
}

/** The numbers of an enum and its short words, both ways. `word` and `value` throw on what is not in the contract. */
export function wordsOf<E extends number>(schema: DescEnum): Words<E> {
  const byNumber = new Map(schema.values.map((value) => [value.number, short(schema, value.name)]))
  const byWord = new Map([...byNumber].map(([number, word]) => [word, number as E]))
  const known = <T>(found: T | undefined, key: unknown) => {
    if (found === undefined) throw new Error(`${schema.typeName} has no ${key}`)
    return found
  }
  return {
    has: (value) => value !== 0 && byNumber.has(value),
    word: (value) => known(byNumber.get(value), value),
    value: (word) => known(byWord.get(word), word),
  }
}
