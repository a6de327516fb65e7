import { create, type MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import { EvidenceKind, EvidenceSchema, SuppressionReason } from '../../gen/verdict/v1/outcomes_pb.ts'
import {
  type SuppressionEntry,
  SuppressionEntrySchema,
  type SuppressionService,
  type SuppressionServiceAddRequest,
  type SuppressionServiceImportRequest,
  type SuppressionServiceImportResponseSchema,
  type SuppressionServiceLiftRequest,
  type SuppressionServiceListRequest,
  SuppressionServiceListRequestSchema,
  type SuppressionServiceRemoveRequest,
} from '../../gen/verdict/v1/suppression_pb.ts'
import { matchingFormOf } from '../../mail/address.ts'
import { changeAs, type Requester } from '../access/audit/change-as.ts'
import { record } from '../access/audit/record-change.ts'
import { requesterOf } from '../access/audit/requester.ts'
import { accountOf } from '../caller.ts'
import { REQUEST_LIMITS } from '../config/limits.ts'
import type { Database } from '../db/connect.ts'
import { newId, parsePublicId, publicId } from '../db/ids.ts'
import { evidenceKindNames } from '../db/outcome-names.ts'
import { EVERYBODY } from '../db/schema.ts'
import { readStored } from '../db/stored-json.ts'
import { fail, failField, failFields } from '../errors.ts'
import { spellingsOf } from '../reputation/erasure-key.ts'
import { type LiftFilters, liftStep, previewLift } from '../reputation/lift.ts'
import { suppressionReasonNames, suppressionScopeOf } from '../reputation/suppression.ts'
import {
  addSuppressions,
  findSuppression,
  knownSuppressions,
  listSuppressions,
  removeSuppression,
  type SuppressionList,
  type SuppressionRow,
} from '../reputation/suppression-list.ts'
import type { Backend } from './backend.ts'
import { notAnAddress, readDomain, readEnum, readTenant, readTenantFilter } from './listing/filters.ts'
import { pageOf, readCursor, readLimit } from './listing/pages.ts'
import { readTime, refuseReversed } from './listing/times.ts'
import { matchingForms } from './matching-forms.ts'
import { undoImport } from './undo-import.ts'

/** The characters that a response repeats of an invalid address, which may be 15 MiB long. */
const SHOWN = 1_000
/** The addresses of each kind that a dry run shows. */
const PREVIEWED = 10

export function createSuppressionService(backend: Backend): ServiceImpl<typeof SuppressionService> {
  const { db, sealer } = backend
  return {
    import: (request, { values }) => importAddresses(backend, request, requesterOf(values)),
    undoImport: async ({ importId }, { values }) => undoImport(db, requesterOf(values), readImportId(importId)),
    async list(request, context) {
      const limit = readLimit(request.limit, MAX_ENTRIES)
      const filters = {
        addresses: request.email === undefined ? undefined : await spellingsOf(db, sealer, readEmail(request.email)),
        reason: request.reason === undefined ? undefined : readReason(request.reason),
        ...readSharedFilters(request),
        after: readCursor(SuppressionServiceListRequestSchema, request),
      }
      const rows = await listSuppressions(db, accountOf(context), filters, limit + 1)
      const { page, ...more } = pageOf(rows, limit, SuppressionServiceListRequestSchema, request)
      return { entries: page.map(entryOfRow), ...more }
    },
    add: (request, { values }) => addAddress(backend, request, requesterOf(values)),
    remove: (request, { values }) => removeAddress(backend, request, requesterOf(values)),
    async lift(request, { values }) {
      const requester = requesterOf(values)
      if (!request.createdFrom) throw failField('created_from', 'is required')
      if (!request.createdTo) throw failField('created_to', 'is required')
      const filters = readSharedFilters(request)
      if (filters.kind === EvidenceKind.COMPLAINT)
        throw failField('kind', 'must not be complaint: only what bounces made is lifted')
      if (!request.dryRun) return liftSuppressions(db, requester, filters)
      const { lifted, rows } = await previewLift(db, requester.accountId, filters, SHOWN_LIFTED)
      return { lifted, entries: rows.map(entryOfRow) }
    },
  }
}

async function addAddress(
  { db, clock }: Backend,
  request: SuppressionServiceAddRequest,
  requester: Requester,
): Promise<SuppressionEntry> {
  const list = { accountId: requester.accountId, tenantId: readTenant(request.tenantId) }
  const email = readEmail(request.email)
  const reason = readReason(request.reason ?? SuppressionReason.MANUAL)
  return changeAs(db, requester, async (tx, author) => {
    const added = await addSuppressions({ db: tx, clock }, list, [email], reason)
    const change = { action: 'suppression.add', target: email, after: recorded(list, reason) } as const
    if (added > 0) await record(tx, { ...author, ...change })
    // There is one: the insertion has locked it, also when it was there before.
    return entryOfRow((await findSuppression(tx, list, [email]))!)
  })
}

async function removeAddress(
  { db, sealer }: Backend,
  request: SuppressionServiceRemoveRequest,
  requester: Requester,
): Promise<Record<string, never>> {
  const list = { accountId: requester.accountId, tenantId: readTenantFilter(request.tenantId) }
  const email = readEmail(request.email)
  const spellings = await spellingsOf(db, sealer, email)
  const removed = await changeAs(db, requester, async (tx, author) => {
    const entry = await removeSuppression(tx, list, spellings)
    const change = entry && { target: email, before: recorded(list, entry.reason) }
    if (change) await record(tx, { ...author, action: 'suppression.remove', ...change })
    return entry
  })
  if (removed) return {}
  const isGlobal = await findSuppression(db, { accountId: EVERYBODY }, spellings)
  throw fail('not_found', isGlobal ? GLOBAL : `There is no such entry for ${email} in this account.`)
}

async function importAddresses(
  { db, clock }: Backend,
  { emails, tenantId, reason = SuppressionReason.IMPORT, dryRun, importId }: SuppressionServiceImportRequest,
  requester: Requester,
): Promise<MessageInitShape<typeof SuppressionServiceImportResponseSchema>> {
  if (emails.length < 1 || emails.length > REQUEST_LIMITS.importAddresses) {
    throw failField('emails', `holds ${emails.length} addresses; an import takes 1 to 10,000`)
  }
  const list = { accountId: requester.accountId, tenantId: readTenant(tenantId) }
  const reasonName = readReason(reason)
  const id = importId === undefined ? newId(clock.now()) : readImportId(importId)
  const forms = await matchingForms(emails)
  const distinct = [...new Set(forms.filter((email) => email !== undefined))]
  const errors = emails.flatMap((email, index) =>
    forms[index] === undefined ? [{ index, email: email.slice(0, SHOWN), error: 'invalid_address' }] : [],
  )
  const [invalid, total] = [errors.length, emails.length]
  const counted = (imported: number) => ({
    ...{ imported, alreadySuppressed: total - invalid - imported, invalid, total, errors },
  })
  if (dryRun) {
    const known = await knownSuppressions(db, list, distinct)
    const added = distinct.filter((email) => !known.has(email))
    const preview = { added: added.slice(0, PREVIEWED), known: [...known].slice(0, PREVIEWED) }
    return { ...counted(added.length), preview }
  }
  const imported = await changeAs(db, requester, async (tx, author) => {
    const added = await addSuppressions({ db: tx, clock }, list, distinct, reasonName, id)
    const target = `${added} of ${total} addresses`
    const after = { ...recorded(list, reasonName), invalid, import_id: publicId('imp', id) }
    if (added > 0) await record(tx, { ...author, action: 'suppression.import', target, after })
    return added
  })
  return { ...counted(imported), importId: publicId('imp', id) }
}

/** Lifts entries in batches, each in one transaction, so that none takes long. */
async function liftSuppressions(db: Database, requester: Requester, filters: LiftFilters) {
  let lifted = 0
  const entries: SuppressionEntry[] = []
  for (;;) {
    const rows = await changeAs(db, requester, async (tx, author) => {
      const rows = await liftStep(tx, requester.accountId, filters)
      const target = `${rows.length} ${rows.length === 1 ? 'address' : 'addresses'}`
      const change = { action: 'suppression.lift', target, after: recordedLift(filters) } as const
      if (rows.length > 0) await record(tx, { ...author, ...change })
      return rows
    })
    lifted += rows.length
    entries.push(...rows.slice(0, SHOWN_LIFTED - entries.length).map(entryOfRow))
    if (rows.length === 0) return { lifted, entries }
  }
}

function readEmail(text: string): string {
  if (text === '') throw failField('email', 'is required')
  const email = matchingFormOf(text)
  if (email !== undefined) return email
  throw failFields('invalid_address', [{ field: 'email', message: notAnAddress(text) }])
}

/** The most entries of a page. */
export const MAX_ENTRIES = 1_000
/** The entries that the response to a lift shows. */
const SHOWN_LIFTED = 100

/** The filters that a list and a lift share. */
function readSharedFilters({
  createdFrom,
  createdTo,
  domain,
  kind,
  tenantId,
}: SuppressionServiceListRequest | SuppressionServiceLiftRequest): LiftFilters {
  const fromMs = readTime('created_from', createdFrom)
  const toMs = readTime('created_to', createdTo)
  refuseReversed(fromMs, toMs, 'created_')
  readEnum('kind', kind, evidenceKindNames)
  return { fromMs, toMs, domain: readDomain(domain), kind, tenantId: readTenantFilter(tenantId) }
}

/** What the audit log shows of an entry. */
function recorded({ tenantId }: SuppressionList, reason: SuppressionRow['reason']) {
  return { tenant_id: tenantId, reason }
}

/** What the audit log shows of a lift: its time and filters. */
function recordedLift({ fromMs, toMs, domain, kind, tenantId }: LiftFilters) {
  return {
    created_from: new Date(fromMs!).toISOString(),
    created_to: new Date(toMs!).toISOString(),
    domain,
    kind: kind && evidenceKindNames.name(kind),
    tenant_id: tenantId,
  }
}

const GLOBAL = 'This account has no such entry. A global one holds for the address: only the operator can remove it.'

function readImportId(text: string): string {
  const id = parsePublicId('imp', text)
  if (id === undefined) throw failField('import_id', 'must be the identifier of an import: imp_ and 26 characters')
  return id
}

function readReason(reason: SuppressionReason): SuppressionRow['reason'] {
  return readEnum('reason', reason, suppressionReasonNames) as SuppressionRow['reason']
}

function entryOfRow(row: SuppressionRow): SuppressionEntry {
  return create(SuppressionEntrySchema, {
    email: row.email,
    scope: suppressionScopeOf(row.accountId, row.tenantId),
    tenantId: row.tenantId || undefined,
    reason: suppressionReasonNames.value(row.reason),
    // The message behind a global entry may belong to another account.
    messageId: row.messageId === null || row.accountId === EVERYBODY ? undefined : publicId('msg', row.messageId),
    detail: row.detail === null || row.accountId === EVERYBODY ? undefined : row.detail,
    createdAt: timestampFromDate(row.createdAt),
    expiresAt: row.expiresAt ? timestampFromDate(row.expiresAt) : undefined,
    evidence: row.accountId === EVERYBODY ? undefined : readStored(EvidenceSchema, row.evidence),
  })
}
