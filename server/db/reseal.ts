import type { Database } from './connect.ts'
import { createSealer, type EncryptionKey } from './encryption.ts'
import { one, run } from './statement.ts'

// Replaces a key of ENCRYPTION_KEYS: opens values that an older key has sealed and seals them again with the first key.
// Values that the first key has sealed are skipped, so the next run goes on where an interrupted one has stopped.

/** Every column that holds sealed values, and the column that identifies their row. */
export const SEALED = [
  { table: 'dkim_keys', id: 'id', column: 'private_key' },
  { table: 'receipt_keys', id: 'id', column: 'private_key' },
  { table: 'erasure_keys', id: 'id', column: 'key' },
  { table: 'webhook_endpoints', id: 'id', column: 'secret' },
  { table: 'webhook_endpoints', id: 'id', column: 'previous_secret' },
  { table: 'notification_urls', id: 'account_id', column: 'url' },
] as const
type Column = (typeof SEALED)[number]

interface SealedRow {
  id: string
  sealed: Buffer
}

/** As many as one statement reads. */
const ROWS = 100
const BEFORE_ALL = '00000000-0000-0000-0000-000000000000'

/** Counts all sealed values, and those that another key than the first has sealed. */
export async function countSealed(db: Database, encryptionKeys: readonly EncryptionKey[]) {
  const { head } = createSealer(encryptionKeys)
  const sums = { total: 0, older: 0 }
  for (const { table, column } of SEALED) {
    const statement = `
      select count(${column})::int as total, (count(*) filter (where ${isOlder(column)}))::int as older from ${table}`
    const { total, older } = one(await run<{ total: number; older: number }>(db, statement, [head]))
    sums.total += total
    sums.older += older
  }
  return sums
}

/**
 * Seals with the first key what other keys have sealed, while the service runs: a value that is written meanwhile is
 * left to its writer. `progress` is called after every batch with the number of values done. `faults` says why a value
 * does not open; such a value stays as it is.
 */
export async function reseal(
  db: Database,
  encryptionKeys: readonly EncryptionKey[],
  progress: (resealed: number) => void = () => {},
): Promise<{ resealed: number; faults: string[] }> {
  const sealer = createSealer(encryptionKeys)
  const faults: string[] = []
  let resealed = 0
  for (const column of SEALED) {
    for (let after = BEFORE_ALL; ; ) {
      const rows = await olderRows(db, column, sealer.head, after)
      for (const { id, sealed } of rows) {
        after = id
        const place = { table: column.table, column: column.column, id }
        const opened = attempt(() => sealer.open(sealed, place))
        if ('fault' in opened) faults.push(opened.fault)
        else resealed += await replace(db, column, { id, sealed }, sealer.seal(opened.value, place))
      }
      if (rows.length > 0) progress(resealed)
      if (rows.length < ROWS) break
    }
  }
  return { resealed, faults }
}

/** Whether a value begins otherwise than with the head of the first key, which is `$1`. */
const isOlder = (column: string) => `substring(${column} from 1 for length($1::bytea)) <> $1::bytea`

function olderRows(db: Database, { table, id, column }: Column, head: Buffer, after: string) {
  const statement = `
    select ${id} as id, ${column} as sealed from ${table}
    where ${id} > $2 and ${isOlder(column)} order by ${id} limit ${ROWS}`
  return run<SealedRow>(db, statement, [head, after])
}

/** Returns 1, or 0 when the value has changed meanwhile. */
async function replace(db: Database, { table, id, column }: Column, row: SealedRow, fresh: Buffer): Promise<number> {
  const statement = `update ${table} set ${column} = $3 where ${id} = $1 and ${column} = $2`
  return (await run(db, statement, [row.id, row.sealed, fresh])).count
}

function attempt<T>(work: () => T): { value: T } | { fault: string } {
  try {
    return { value: work() }
  } catch (error) {
    return { fault: (error as Error).message }
  }
}
