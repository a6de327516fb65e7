import { createCollector, jsonArray } from '../db/collector.ts'
import type { Database } from '../db/connect.ts'
import { stepInTime } from '../db/outage.ts'
import { run } from '../db/statement.ts'

/**
 * Finds the holders of keys, of an idempotency key or of a recipient's. One statement serves all requests that look up
 * at the same moment. It takes a JSON list of keys, and names the place of a row's key in that list `n`, from 1.
 */
export function createKeyLookup<Holder extends object>(
  db: Database,
  statement: string,
): (key: object) => Promise<Holder | undefined> {
  const find = createCollector<{ json: string }, Holder | undefined>(
    async (keys) => {
      const rows = await run<Holder & { n: number }>(db, statement, [jsonArray(keys)])
      const holders = new Map(rows.map(({ n, ...holder }) => [n, holder as unknown as Holder]))
      return keys.map((_, i) => holders.get(i + 1))
    },
    { repeatable: db, note: db.noteBatch('find_keys'), groupOf: ({ json }) => json },
  )
  return (key) => stepInTime(db, find({ json: JSON.stringify(key) }))
}
