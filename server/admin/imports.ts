import { create } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import {
  type Import,
  ImportSchema,
  type ImportService,
  type ImportState,
  ImportStateSchema,
  type StartImportRequest,
} from '../../gen/verdict/admin/v1/imports_pb.ts'
import { authorOf } from '../audit/author.ts'
import { type Author, record } from '../audit/record.ts'
import { callerKey } from '../caller.ts'
import { nameFault } from '../clean-text.ts'
import type { DatabaseClock } from '../db/clock.ts'
import type { Database } from '../db/connect.ts'
import { and, asc, desc, eq, gt, sql } from '../db/drizzle.ts'
import { newId, parsePublicId, publicId } from '../db/ids.ts'
import { importFaults, suppressionImports } from '../db/people-schema.ts'
import { enumNames } from '../enum-names.ts'
import { fail } from '../errors.ts'
import { readTenant, refuse } from '../services/listing.ts'
import { addPart, type ImportRow, recordEnd } from './import-parts.ts'

const MAX_LINES = 1_000_000
const MAX_FILE_NAME = 255
const LISTED = 50
const LISTED_FAULTS = 1_000

export interface ImportServiceParts {
  db: Database
  clock: DatabaseClock
  /** Returns an address in its matching form; undefined for a text that is not an address. */
  matchingForm(text: string): string | undefined
}

export function importService(parts: ImportServiceParts): ServiceImpl<typeof ImportService> {
  const { db, clock } = parts

  async function readImport(accountId: string, text: string): Promise<ImportRow> {
    const id = parsePublicId('imp', text)
    const [row] = id ? await db.select().from(suppressionImports).where(isImport(accountId, id)) : []
    if (!row) throw fail('not_found', `There is no import ${JSON.stringify(text.slice(0, 64))} in this account.`)
    return row
  }

  /** Starts an import; undefined when one of the same file runs. */
  function start(row: NewImport, author: Author): Promise<ImportRow | undefined> {
    return db.transaction(async (tx) => {
      const [started] = await tx
        .insert(suppressionImports)
        .values({ ...row, state: 'running' })
        .onConflictDoNothing()
        .returning()
      const { fileName: target, lines, tenantId } = row
      const after = { state: 'running', lines, tenant_id: tenantId || undefined }
      if (started) await record(tx, { ...author, action: 'suppression.import', target, after })
      return started
    })
  }

  return {
    async startImport(request, context) {
      const { accountId, person } = context.values.get(callerKey)!
      const file = readFile(request)
      const row = { ...file, id: newId(clock.now()), accountId, createdBy: person!.email }
      // Repeats only when the running import ended between the two statements.
      for (;;) {
        const started = await start(row, authorOf(context.values))
        if (started) return { import: importOf(started) }
        const [running] = await db.select().from(suppressionImports).where(isRunning(accountId, file))
        if (running) return { import: importOf(running) }
      }
    },

    async addPart(request, context) {
      const { accountId } = context.values.get(callerKey)!
      const { id } = await readImport(accountId, request.importId)
      return { import: importOf(await addPart(parts, id, request, authorOf(context.values))) }
    },

    async cancelImport({ importId }, context) {
      const { accountId } = context.values.get(callerKey)!
      const { id } = await readImport(accountId, importId)
      await db.transaction(async (tx) => {
        const [cancelled] = await tx
          .update(suppressionImports)
          .set({ state: 'cancelled', endedAt: sql`clock_timestamp()` })
          .where(and(eq(suppressionImports.id, id), eq(suppressionImports.state, 'running')))
          .returning()
        if (cancelled) await recordEnd(tx, cancelled, authorOf(context.values))
      })
      return { import: importOf(await readImport(accountId, importId)) }
    },

    async listImports(_, context) {
      const { accountId } = context.values.get(callerKey)!
      const rows = await db
        .select()
        .from(suppressionImports)
        .where(eq(suppressionImports.accountId, accountId))
        .orderBy(desc(suppressionImports.id))
        .limit(LISTED)
      return { imports: rows.map(importOf) }
    },

    async listImportFaults({ importId, afterLine = 0 }, context) {
      const { accountId } = context.values.get(callerKey)!
      const { id } = await readImport(accountId, importId)
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

type NewImport = File & Pick<ImportRow, 'id' | 'accountId' | 'createdBy'>
type File = Pick<ImportRow, 'fileName' | 'lines' | 'digest' | 'tenantId'>

const { accountId, id, tenantId, digest, state } = suppressionImports
const isImport = (account: string, importId: string) => and(eq(id, importId), eq(accountId, account))
const isRunning = (account: string, file: File) =>
  and(eq(accountId, account), eq(tenantId, file.tenantId), eq(digest, file.digest), eq(state, 'running'))

function readFile({ fileName, lines, digest, tenantId }: StartImportRequest): File {
  const fault = nameFault(fileName, MAX_FILE_NAME)
  if (fault) throw refuse('file_name', fault)
  if (lines < 1 || lines > MAX_LINES) throw refuse('lines', 'must be 1 to 1,000,000')
  if (!/^[0-9a-f]{64}$/i.test(digest)) throw refuse('digest', 'must be the SHA-256 of the file: 64 hex digits')
  return { fileName, lines, digest: Buffer.from(digest, 'hex'), tenantId: readTenant(tenantId) ?? '' }
}

const stateNames = enumNames<ImportState>(ImportStateSchema)

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
