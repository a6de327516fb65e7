import { create } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import {
  type Import,
  ImportSchema,
  type ImportService,
  ImportStateSchema,
  type StartImportRequest,
} from '../../gen/verdict/admin/v1/imports_pb.ts'
import { nameFault } from '../../net/clean-text.ts'
import { changeAs, type Requester } from '../access/audit/change-as.ts'
import { record } from '../access/audit/record-change.ts'
import { requesterOf } from '../access/audit/requester.ts'
import { refuseMore } from '../access/running-work.ts'
import { accountOf } from '../caller.ts'
import type { Database } from '../db/connect.ts'
import { and, asc, desc, eq, gt, sql } from '../db/drizzle.ts'
import { enumNames } from '../db/enum-names.ts'
import { newId, parsePublicId, publicId } from '../db/ids.ts'
import { lockAccount } from '../db/lock-account.ts'
import { importFaults, suppressionImports } from '../db/people-schema.ts'
import { one } from '../db/statement.ts'
import { fail, failField } from '../errors.ts'
import type { Backend } from '../services/backend.ts'
import { readTenant } from '../services/listing/filters.ts'
import { addPart, type ImportRow, recordEnd } from './import-parts.ts'
import { personOf } from './person.ts'

const MAX_LINES = 1_000_000
const MAX_FILE_NAME = 255
const LISTED = 50
const LISTED_FAULTS = 1_000

export function createImportService({ db, clock }: Pick<Backend, 'db' | 'clock'>): ServiceImpl<typeof ImportService> {
  return {
    async startImport(request, context) {
      const file = readFile(request)
      const row = { ...file, id: newId(clock.now()), accountId: accountOf(context), createdBy: personOf(context).email }
      return { import: importOf(await startOrFind(db, row, requesterOf(context.values))) }
    },
    async addPart(request, context) {
      const { id } = await readImport(db, accountOf(context), request.importId)
      return { import: importOf(await addPart({ db, clock }, id, request, requesterOf(context.values))) }
    },
    async cancelImport({ importId }, context) {
      const accountId = accountOf(context)
      const { id } = await readImport(db, accountId, importId)
      await cancel(db, id, requesterOf(context.values))
      return { import: importOf(await readImport(db, accountId, importId)) }
    },
    async listImports(_, context) {
      const rows = await db
        .select()
        .from(suppressionImports)
        .where(eq(suppressionImports.accountId, accountOf(context)))
        // A running import is listed however many have ended since it was started, so that it can be cancelled.
        .orderBy(desc(eq(suppressionImports.state, 'running')), desc(suppressionImports.id))
        .limit(LISTED)
      return { imports: rows.toSorted((a, b) => (a.id < b.id ? 1 : -1)).map(importOf) }
    },
    async listImportFaults({ importId, afterLine = 0 }, context) {
      const { id } = await readImport(db, accountOf(context), importId)
      const { line, text, message } = importFaults
      const faults = await db
        .select({ line, text, message })
        .from(importFaults)
        .where(and(eq(importFaults.importId, id), gt(line, Math.min(afterLine, MAX_LINES))))
        .orderBy(asc(line))
        .limit(LISTED_FAULTS + 1)
      return { faults: faults.slice(0, LISTED_FAULTS), hasMore: faults.length > LISTED_FAULTS }
    },
  }
}

async function readImport(db: Database, accountId: string, text: string): Promise<ImportRow> {
  const id = parsePublicId('imp', text)
  const [row] = id ? await db.select().from(suppressionImports).where(isImport(accountId, id)) : []
  if (!row) throw fail('not_found', `There is no import ${JSON.stringify(text.slice(0, 64))} in this account.`)
  return row
}

/** Starts an import, or returns the running one of the same file. Throws when the account may start no other one. */
function startOrFind(db: Database, row: NewImport, requester: Requester): Promise<ImportRow> {
  return changeAs(db, requester, async (tx, author) => {
    await lockAccount(tx, row.accountId)
    const running = await tx
      .select()
      .from(suppressionImports)
      .where(and(eq(suppressionImports.accountId, row.accountId), eq(suppressionImports.state, 'running')))
    const same = running.find(({ tenantId, digest }) => tenantId === row.tenantId && row.digest.equals(digest))
    if (same) return same
    refuseMore('import', running.length)
    const values = { ...row, state: 'running' as const }
    const started = one(await tx.insert(suppressionImports).values(values).returning())
    const { fileName: target, lines, tenantId } = row
    const after = { state: 'running', lines, tenant_id: tenantId || undefined }
    await record(tx, { ...author, action: 'suppression.import', target, after })
    return started
  })
}

function cancel(db: Database, id: string, requester: Requester): Promise<void> {
  return changeAs(db, requester, async (tx, author) => {
    const [cancelled] = await tx
      .update(suppressionImports)
      .set({ state: 'cancelled', endedAt: sql`clock_timestamp()` })
      .where(and(eq(suppressionImports.id, id), eq(suppressionImports.state, 'running')))
      .returning()
    if (cancelled) await recordEnd(tx, cancelled, author)
  })
}

type NewImport = File & Pick<ImportRow, 'id' | 'accountId' | 'createdBy'>
type File = Pick<ImportRow, 'fileName' | 'lines' | 'digest' | 'tenantId'>

const { accountId, id } = suppressionImports
const isImport = (account: string, importId: string) => and(eq(id, importId), eq(accountId, account))

function readFile({ fileName, lines, digest, tenantId }: StartImportRequest): File {
  const fault = nameFault(fileName, MAX_FILE_NAME)
  if (fault) throw failField('file_name', fault)
  if (lines < 1 || lines > MAX_LINES) throw failField('lines', 'must be 1 to 1,000,000')
  if (!/^[0-9a-f]{64}$/i.test(digest)) throw failField('digest', 'must be the SHA-256 of the file: 64 hex digits')
  return { fileName, lines, digest: Buffer.from(digest, 'hex'), tenantId: readTenant(tenantId) ?? '' }
}

const stateNames = enumNames(ImportStateSchema)

function importOf({ id, state, tenantId, createdAt, endedAt, ...row }: ImportRow): Import {
  const { fileName, lines, linesDone, nextPart, imported, alreadySuppressed, invalid, createdBy } = row
  return create(ImportSchema, {
    ...{ fileName, lines, linesDone, nextPart, imported, alreadySuppressed, invalid, createdBy },
    importId: publicId('imp', id),
    state: stateNames.value(state),
    createdAt: timestampFromDate(createdAt),
    endedAt: endedAt ? timestampFromDate(endedAt) : undefined,
    tenantId: tenantId || undefined,
  })
}
