import type { AddPartRequest } from '../../gen/verdict/admin/v1/imports_pb.ts'
import { cleanText } from '../../net/clean-text.ts'
import { changeAs, type Requester } from '../access/audit/change-as.ts'
import { type Author, record } from '../access/audit/record-change.ts'
import { REQUEST_LIMITS } from '../config/limits.ts'
import type { Transaction } from '../db/connect.ts'
import { eq, sql } from '../db/drizzle.ts'
import { suppressionImports } from '../db/people-schema.ts'
import { one, run } from '../db/statement.ts'
import { fail, failField } from '../errors.ts'
import { suppressionReasonNames } from '../reputation/suppression.ts'
import { addSuppressions } from '../reputation/suppression-list.ts'
import type { Backend } from '../services/backend.ts'
import { readEnum } from '../services/listing/filters.ts'
import { matchingForms } from '../services/matching-forms.ts'

type Reason = Parameters<typeof addSuppressions>[3]
export type ImportRow = typeof suppressionImports.$inferSelect

/** The characters that are kept of a line that is no address. */
const MAX_FAULT_TEXT = 320
const NOT_AN_ADDRESS = 'is not an email address'

const KEEP_FAULTS = `
  insert into import_faults (import_id, line, text, message)
  select $1, f.line, f.text, '${NOT_AN_ADDRESS}' from json_to_recordset($2::json) as f(line integer, text text)`

/**
 * Adds one part of an import, in one commit with its addresses, and returns the import. A part that was already added
 * changes nothing. Throws `invalid_payload` for a part out of order and `wrong_state` when the import has ended.
 */
export async function addPart(
  { db, clock }: Pick<Backend, 'db' | 'clock'>,
  importId: string,
  request: AddPartRequest,
  requester: Requester,
): Promise<ImportRow> {
  const { accepted, byReason, faults } = await readLines(request)
  return changeAs(db, requester, async (tx, author) => {
    const isThis = eq(suppressionImports.id, importId)
    const row = one(await tx.select().from(suppressionImports).where(isThis).for('update'))
    if (isAdded(row, request)) return row
    const list = { accountId: row.accountId, tenantId: row.tenantId }
    let imported = 0
    for (const [reason, entries] of byReason) {
      const forms = entries.map(([form]) => form)
      imported += await addSuppressions({ db: tx, clock }, list, forms, reason, importId)
    }
    if (faults.length > 0) await run(tx, KEEP_FAULTS, [importId, JSON.stringify(faults)])
    const rows = await tx
      .update(suppressionImports)
      .set({
        nextPart: row.nextPart + 1,
        linesDone: request.firstLine - 1 + request.emails.length,
        imported: row.imported + imported,
        alreadySuppressed: row.alreadySuppressed + accepted - imported,
        invalid: row.invalid + faults.length,
        ...(request.last && { state: 'finished', endedAt: sql`clock_timestamp()` }),
      })
      .where(isThis)
      .returning()
    const added = one(rows)
    if (request.last) await recordEnd(tx, added, author)
    return added
  })
}

/** Writes the end of an import into the audit log. */
export async function recordEnd(tx: Transaction, row: ImportRow, author: Author): Promise<void> {
  const { fileName: target, state, imported, alreadySuppressed, invalid } = row
  const after = { state, imported, already_suppressed: alreadySuppressed, invalid }
  await record(tx, { ...author, action: 'suppression.import', target, before: { state: 'running' }, after })
}

/** Whether a part was already added. Throws when it can neither be added nor was it. */
function isAdded({ state, lines, linesDone, nextPart }: ImportRow, { part, firstLine, emails }: AddPartRequest) {
  if (part < nextPart) return true
  if (state !== 'running') throw fail('wrong_state', `The import has ended: it is ${state}. Start another one.`)
  if (part > nextPart) throw failField('part', `must be ${nextPart}: that part is expected next`)
  if (firstLine <= linesDone)
    throw failField('first_line', `must be ${linesDone + 1} or more: the lines before are done`)
  if (firstLine - 1 + emails.length > lines) throw failField('emails', `go beyond the ${lines} lines of the file`)
  return false
}

interface ReadLines {
  /** How many lines are addresses. */
  accepted: number
  /** The different addresses among them, in their matching form, by the reason that each has first. */
  byReason: Map<Reason, [form: string, Reason][]>
  faults: { line: number; text: string }[]
}

async function readLines({ emails, reasons, firstLine }: AddPartRequest): Promise<ReadLines> {
  if (emails.length < 1 || emails.length > REQUEST_LIMITS.importAddresses) {
    throw failField('emails', `holds ${emails.length} lines; a part has 1 to 10,000`)
  }
  if (reasons.length > 0 && reasons.length !== emails.length) {
    throw failField(
      'reasons',
      `holds ${reasons.length} reasons of ${emails.length} lines; leave it empty, or give each`,
    )
  }
  const names = reasons.map((reason) => readEnum('reasons', reason, suppressionReasonNames) as Reason)
  const texts = emails.map((text) => text.trim())
  const forms = await matchingForms(texts)
  const reasonOf = new Map<string, Reason>()
  for (const [i, form] of forms.entries()) {
    if (form !== undefined && !reasonOf.has(form)) reasonOf.set(form, names[i] ?? 'import')
  }
  const faults = texts.flatMap((text, i) =>
    text === '' || forms[i] !== undefined ? [] : [{ line: firstLine + i, text: cut(text) }],
  )
  const accepted = forms.filter((form) => form !== undefined).length
  const byReason = Map.groupBy(reasonOf, ([, reason]) => reason)
  return { accepted, byReason, faults }
}

const cut = (text: string) => [...cleanText(text.slice(0, 2 * MAX_FAULT_TEXT))].slice(0, MAX_FAULT_TEXT).join('')
