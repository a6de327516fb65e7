import type { Database } from '../db/connect.ts'
import { run } from '../db/statement.ts'
import { type Erasure, type ErasureParts, mentionsOf } from './erase.ts'
import type { AddressPlace } from './places.ts'
import { readAnswer } from './places.ts'

const ROWS = `select row_to_json(t)::text as json from %part t where t.ctid = any($1::tid[])`

interface ExportOptions {
  now: Date
  /** The rows of the archive, as JSON. */
  archived?: AsyncIterable<string>
  progress?: ErasureParts['progress']
}

/**
 * Yields everything that the database holds about an address, as the text of one JSON object: the address, the time,
 * and a list of rows for each table, as the table has them. The rows of an archive follow, if there is one.
 */
export async function* exportOf(
  db: Database,
  erasure: Erasure,
  { now, archived, progress }: ExportOptions,
): AsyncGenerator<string> {
  yield `{"address":${JSON.stringify(erasure.wanted.address)},"exported_at":"${now.toISOString()}","tables":{`
  let current: AddressPlace | undefined
  for await (const { part, found } of mentionsOf(db, erasure, progress)) {
    const places = found.map(({ at }) => `"${at}"`)
    const rows = await run<{ json: string }>(db, ROWS.replace('%part', part.name), [`{${places}}`])
    for (const { json } of rows) {
      const row = readableRow(part.place, json)
      if (part.place === current) yield `,\n${row}`
      else yield `${current ? '\n],' : ''}\n"${part.place.table}":[\n${row}`
      current = part.place
    }
  }
  yield `${current ? '\n]' : ''}}`
  if (archived) {
    yield ',"archive":['
    let isFirst = true
    for await (const row of archived) {
      yield `${isFirst ? '' : ','}\n${row}`
      isFirst = false
    }
    yield '\n]'
  }
  yield '}\n'
}

/** A column with the answer of a batch is shown as the batch's JSON, and secrets of the account are left out. */
function readableRow({ columns, secrets = [] }: AddressPlace, json: string): string {
  const [answer] = Object.keys(columns).filter((column) => columns[column] === 'answer')
  if (answer === undefined && secrets.length === 0) return json
  const row = Object.fromEntries(Object.entries(JSON.parse(json)).filter(([column]) => !secrets.includes(column)))
  if (answer !== undefined) row[answer] = readAnswer(Buffer.from((row[answer] as string).slice(2), 'hex'))
  return JSON.stringify(row)
}
