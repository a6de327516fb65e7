import type { Database } from './connect.ts'
import type { Sealer } from './encryption.ts'
import { SEALED } from './reseal.ts'

/** Sealed values of one column that no configured key opens. */
export interface LostKey {
  /** The id of the key that sealed them. */
  key: string
  table: string
  column: string
  values: number
  why: string
}

interface Sample {
  keyId: string
  values: number
  id: string
  sealed: Buffer
}

/**
 * The keys that sealed something in the database and are not given any more, or are given with other bytes under the same id. One value
 * of each key and column is opened. Every send or webhook that needs such a value fails.
 */
export async function findLostKeys(db: Database, sealer: Sealer): Promise<LostKey[]> {
  const lost: LostKey[] = []
  for (const { table, id, column } of SEALED) {
    // Version, length of the id, id: see encryption.ts.
    const keyId = `encode(substring(${column} from 3 for get_byte(${column}, 1)), 'escape')`
    const samples = await db.$client.unsafe<Sample[]>(
      `select distinct on ("keyId") ${keyId} as "keyId", (count(*) over (partition by ${keyId}))::int as values, ${id} as id, ${column} as sealed
       from ${table} where length(${column}) > 2 order by "keyId", ${id}`,
    )
    for (const { keyId: key, values, id: row, sealed } of samples) {
      try {
        sealer.open(sealed, { table, column, id: row })
      } catch (error) {
        lost.push({ key, table, column, values, why: (error as Error).message })
      }
    }
  }
  return lost
}
