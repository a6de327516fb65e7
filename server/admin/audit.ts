import { create } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import {
  ActorKindSchema,
  type AuditEntry,
  AuditEntrySchema,
  type AuditService,
  ListAuditEntriesRequestSchema,
} from '../../gen/verdict/admin/v1/audit_pb.ts'
import { ACTIONS, type Action } from '../access/audit/actions.ts'
import { accountOf } from '../caller.ts'
import type { Database } from '../db/connect.ts'
import { and, desc, eq, lt } from '../db/drizzle.ts'
import { enumNames } from '../db/enum-names.ts'
import { publicId, timeOfId } from '../db/ids.ts'
import { auditEntries } from '../db/people-schema.ts'
import { failField } from '../errors.ts'
import { pageOf, readCursor, readLimit } from '../services/listing/pages.ts'

const actorKindNames = enumNames(ActorKindSchema)

export function createAuditService({ db }: { db: Database }): ServiceImpl<typeof AuditService> {
  return {
    async listAuditEntries(request, context) {
      const accountId = accountOf(context)
      const limit = readLimit(request.limit)
      const action = readAction(request.action)
      const after = readCursor(ListAuditEntriesRequestSchema, request)
      const rows = await db
        .select()
        .from(auditEntries)
        .where(
          and(
            eq(auditEntries.accountId, accountId),
            action === undefined ? undefined : eq(auditEntries.action, action),
            after === undefined ? undefined : lt(auditEntries.id, after),
          ),
        )
        .orderBy(desc(auditEntries.id))
        .limit(limit + 1)
      const { page, nextCursor } = pageOf(rows, limit, ListAuditEntriesRequestSchema, request)
      return { entries: page.map(entryOfRow), nextCursor, actions: [...ACTIONS] }
    },
  }
}

function readAction(action: string | undefined): Action | undefined {
  if (action === undefined || ACTIONS.some((known) => known === action)) return action as Action | undefined
  throw failField('action', `must be one of ${ACTIONS.join(', ')}`)
}

function entryOfRow(row: typeof auditEntries.$inferSelect): AuditEntry {
  const { id, actorKind, actorId, actorName, action, target, before, after, remoteAddress } = row
  return create(AuditEntrySchema, {
    entryId: publicId('aud', id),
    createdAt: timestampFromMs(timeOfId(id)),
    actorKind: actorKindNames.value(actorKind),
    actorId: actorId === null ? undefined : publicId(actorKind === 'person' ? 'per' : 'key', actorId),
    actorName,
    action,
    target,
    before: before ? JSON.stringify(before) : undefined,
    after: after ? JSON.stringify(after) : undefined,
    remoteAddress: remoteAddress ?? undefined,
  })
}
