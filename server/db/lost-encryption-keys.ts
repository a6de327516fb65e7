import type { Database } from './connect.ts'
import type { Sealer } from './encryption.ts'
import { SEALED } from './reseal.ts'
import { run } from './statement.ts'

/** Sealed values of one key in one column, of which at least one does not open. */
export interface UnopenedValues {
  /** The id of the key that sealed them; undefined when the bytes are not a sealed value at all. */
  key: string | undefined
  table: string
  column: string
  /** All values of this key in the column. */
  values: number
  why: string
  /**
   * Whether the key opens none of the values that were tried in any column: it is not configured any more, or is
   * configured with other bytes. Otherwise the key is right, and single values are damaged.
   */
  isKeyLost: boolean
}

interface Sample {
  keyId: string | null
  values: number
  id: string
  sealed: Buffer
}

/** More than one, so that one damaged value does not look like a lost key. */
const SAMPLES = 3

/** Tries to open some values for each key and column, and returns what does not open. */
export async function findUnopenedValues(db: Database, sealer: Sealer): Promise<UnopenedValues[]> {
  const unopened = new Map<string, UnopenedValues>()
  const opened = new Set<string | null>()
  for (const place of SEALED) {
    const { table, column } = place
    for (const { keyId, values, id: row, sealed } of await samplesOf(db, place)) {
      try {
        sealer.open(sealed, { table, column, id: row })
        opened.add(keyId)
      } catch (error) {
        const { message: why } = error as Error
        const key = keyId ?? undefined
        unopened.set(`${key} ${table} ${column}`, { key, table, column, values, why, isKeyLost: false })
      }
    }
  }
  return [...unopened.values()].map((each) => ({
    ...each,
    isKeyLost: each.key !== undefined && !opened.has(each.key),
  }))
}

function samplesOf(db: Database, { table, id, column }: (typeof SEALED)[number]) {
  // Version, length of the id, id, nonce and tag: see encryption.ts.
  const idLength = `get_byte(${column}, 1)`
  const keyId = `case when get_byte(${column}, 0) = 1 and length(${column}) >= 2 + ${idLength} + 28
    then encode(substring(${column} from 3 for ${idLength}), 'escape') end`
  return run<Sample>(
    db,
    `select "keyId", values, id, sealed from (
       select "keyId", (count(*) over (partition by "keyId"))::int as values,
         row_number() over (partition by "keyId" order by id) as place, id, sealed
       from (select ${keyId} as "keyId", ${id} as id, ${column} as sealed from ${table} where length(${column}) > 2) s
     ) s where place <= ${SAMPLES} order by "keyId", id`,
  )
}
