import type { Database } from './connect.ts'
import type { Sealer } from './encryption.ts'
import { SEALED } from './reseal.ts'
import { run } from './statement.ts'

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
 * Finds keys that sealed values in the database and are no longer configured, or are configured with other bytes under
 * the same id. Tries to open one value for each key and column. Every send or webhook that needs a value of a lost key
 * fails.
 */
export async function findLostKeys(db: Database, sealer: Sealer): Promise<LostKey[]> {
  const lost: LostKey[] = []
  for (const { table, id, column } of SEALED) {
    // Version, length of the id, id: see encryption.ts.
    const keyId = `encode(substring(${column} from 3 for get_byte(${column}, 1)), 'escape')`
    const samples = await run<Sample>(
      db,
      `select distinct on ("keyId") ${keyId} as "keyId", (count(*) over (partition by ${keyId}))::int as values,
         ${id} as id, ${column} as sealed
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
