import { setImmediate } from 'node:timers/promises'
import { create } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import { SuppressionReason } from '../../gen/verdict/v1/outcomes_pb.ts'
import {
  type SuppressionEntry,
  SuppressionEntrySchema,
  type SuppressionService,
  SuppressionServiceListRequestSchema,
} from '../../gen/verdict/v1/suppression_pb.ts'
import { callerKey } from '../caller.ts'
import { REQUEST_LIMITS } from '../config/limits.ts'
import type { DatabaseClock } from '../db/clock.ts'
import type { Database } from '../db/connect.ts'
import { publicId } from '../db/ids.ts'
import { EVERYBODY } from '../db/schema.ts'
import { fail, failFields } from '../errors.ts'
import { suppressionReasonNames, suppressionScopeOf } from '../reputation/suppression.ts'
import {
  addSuppressions,
  findSuppression,
  listSuppressions,
  removeSuppression,
  type SuppressionRow,
} from '../reputation/suppression-list.ts'
import { pageOf, readCursor, readEnum, readLimit, readTenant, refuse } from './listing.ts'

const SLICE = 250
/** The characters that a response repeats of an invalid address, which may be 15 MiB long. */
const SHOWN = 1_000

export interface SuppressionServiceParts {
  db: Database
  clock: DatabaseClock
  /** Returns an address in its matching form; undefined for a text that is not an address. */
  matchingForm(text: string): string | undefined
}

export function suppressionService(parts: SuppressionServiceParts): ServiceImpl<typeof SuppressionService> {
  const { db, matchingForm } = parts

  function readEmail(text: string): string {
    if (text === '') throw refuse('email', 'is required')
    const email = matchingForm(text)
    if (email !== undefined) return email
    const message = 'is not an email address. Expected something like ann@example.com'
    throw failFields('invalid_address', [{ field: 'email', message }])
  }

  /** Works in slices: 10,000 texts that were built to be slow to parse would delay all other calls by a second. */
  async function matchingForms(texts: string[]): Promise<(string | undefined)[]> {
    const forms: (string | undefined)[] = []
    while (forms.length < texts.length) {
      forms.push(...texts.slice(forms.length, forms.length + SLICE).map(matchingForm))
      await setImmediate()
    }
    return forms
  }

  return {
    async import({ emails, tenantId, reason = SuppressionReason.IMPORT }, context) {
      const { accountId } = context.values.get(callerKey)!
      if (emails.length < 1 || emails.length > REQUEST_LIMITS.importAddresses) {
        throw refuse('emails', `holds ${emails.length} addresses; an import takes 1 to 10,000`)
      }
      const list = { accountId, tenantId: readTenant(tenantId) }
      const reasonName = readReason(reason)!
      const forms = await matchingForms(emails)
      const distinct = [...new Set(forms.filter((email) => email !== undefined))]
      const imported = distinct.length === 0 ? 0 : await addSuppressions(parts, list, distinct, reasonName)
      const errors = emails.flatMap((email, index) =>
        forms[index] === undefined ? [{ index, email: email.slice(0, SHOWN), error: 'invalid_address' }] : [],
      )
      const invalid = errors.length
      return { imported, alreadySuppressed: emails.length - invalid - imported, invalid, total: emails.length, errors }
    },

    async list(request, context) {
      const { accountId } = context.values.get(callerKey)!
      const limit = readLimit(request.limit)
      const filters = {
        email: request.email === undefined ? undefined : readEmail(request.email),
        reason: readReason(request.reason),
        tenantId: readTenant(request.tenantId),
        after: readCursor(SuppressionServiceListRequestSchema, request),
      }
      const rows = await listSuppressions(db, accountId, filters, limit + 1)
      const { page, ...more } = pageOf(rows, limit, SuppressionServiceListRequestSchema, request)
      return { entries: page.map(entryOfRow), ...more }
    },

    async add(request, context) {
      const { accountId } = context.values.get(callerKey)!
      const list = { accountId, tenantId: readTenant(request.tenantId) }
      const email = readEmail(request.email)
      const reason = readReason(request.reason ?? SuppressionReason.MANUAL)!
      // Repeats only when another call has removed the entry between the two statements.
      for (;;) {
        await addSuppressions(parts, list, [email], reason)
        const entry = await findSuppression(db, list, email)
        if (entry) return entryOfRow(entry)
      }
    },

    async remove(request, context) {
      const { accountId } = context.values.get(callerKey)!
      const list = { accountId, tenantId: readTenant(request.tenantId) }
      const email = readEmail(request.email)
      if (await removeSuppression(db, list, email)) return {}
      const isGlobal = await findSuppression(db, { accountId: EVERYBODY }, email)
      throw fail('not_found', isGlobal ? GLOBAL : `There is no such entry for ${email} in this account.`)
    },
  }
}

const GLOBAL = 'This account has no such entry. A global one holds for the address: only the operator can remove it.'

function readReason(reason: SuppressionReason | undefined): SuppressionRow['reason'] | undefined {
  return readEnum('reason', reason, suppressionReasonNames) as SuppressionRow['reason'] | undefined
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
  })
}
