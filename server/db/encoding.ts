import type { Database, Transaction } from './connect.ts'
import { one, run } from './statement.ts'

const TEXTS = `select current_setting('server_encoding') as encoding, lower('I') = 'i' as "lowersLetters"`

/** How a database is created that holds every message and compares addresses as mail does. */
export const CREATE_DATABASE = 'createdb --owner=verdict --template=template0 --encoding=UTF8 --locale=C.UTF-8 verdict'

/**
 * Why this database cannot store every message, or does not find every address; undefined when it does both. The
 * encoding and the locale are fixed when a database is created. By default they are those of the server's machine.
 */
export async function textFault(db: Database | Transaction): Promise<string | undefined> {
  const { encoding, lowersLetters } = one(await run<{ encoding: string; lowersLetters: boolean }>(db, TEXTS))
  if (encoding !== 'UTF8') return `the encoding of the database is ${encoding}: messages hold letters that it lacks`
  // In Turkish, the small letter of I has no dot.
  return lowersLetters ? undefined : 'the locale of the database turns I into another letter than i: addresses get lost'
}
