import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import { type EmailService, ListRefusedSendsRequestSchema } from '../../../gen/verdict/v1/emails_pb.ts'
import { ErrorReasonSchema } from '../../../gen/verdict/v1/errors_pb.ts'
import { accountOf } from '../../caller.ts'
import type { Database } from '../../db/connect.ts'
import { and, desc, eq, gte, lt, sql } from '../../db/drizzle.ts'
import { enumNames } from '../../db/enum-names.ts'
import { firstIdAt, publicId, timeOfId } from '../../db/ids.ts'
import { type IdRange, later, newestRowsInTime } from '../../db/newest-rows.ts'
import { refusedSends, unstoredRefusedSends } from '../../db/schema.ts'
import { one } from '../../db/statement.ts'
import { PUBLIC_ERRORS, type PublicErrorReason } from '../../errors.ts'
import type { Backend } from '../backend.ts'
import { isRecipient, readEnum, readSoughtRecipient, type SoughtRecipient } from '../listing/filters.ts'
import { pageOf, readLimit, readRange } from '../listing/pages.ts'

const KEPT_MS = 7 * 86_400_000
const errorNames = enumNames(ErrorReasonSchema)

interface Filters {
  accountId: string
  error: string | undefined
  recipient: SoughtRecipient | undefined
}

export function createListRefusedSends({ read, clock }: Backend): ServiceImpl<typeof EmailService>['listRefusedSends'] {
  return async (request, context) => {
    const limit = readLimit(request.limit)
    const range = readRange(ListRefusedSendsRequestSchema, request, clock)
    const oldest = later(range.from, firstIdAt(clock.now() - KEPT_MS))
    const accountId = accountOf(context)
    const filters = {
      accountId,
      error: readEnum('error', request.error, errorNames),
      recipient: readSoughtRecipient(request.recipient),
    }
    return read(async (db) => {
      const { rows, stoppedAt } = await newestRowsInTime({ ...range, from: oldest }, limit + 1, (days, limit) =>
        findRefused(db, filters, days, limit),
      )
      const notStored = await countUnstored(db, accountId)
      const { page, ...more } = pageOf(rows, limit, ListRefusedSendsRequestSchema, request, stoppedAt)
      return { refusedSends: page.map(shownRefusal), notStored, ...more }
    })
  }
}

function findRefused(db: Database, { accountId, error, recipient }: Filters, { from, below }: IdRange, limit: number) {
  return db
    .select()
    .from(refusedSends)
    .where(
      and(
        eq(refusedSends.accountId, accountId),
        gte(refusedSends.id, from),
        lt(refusedSends.id, below),
        error === undefined ? undefined : eq(refusedSends.error, error),
        recipient &&
          sql`exists (select from unnest(${refusedSends.recipients}) as r(email) where ${isRecipient('r.email', recipient)})`,
      ),
    )
    .orderBy(desc(refusedSends.id))
    .limit(limit)
}

async function countUnstored(db: Database, accountId: string): Promise<number> {
  const rows = await db
    .select({ sends: sql<number>`coalesce(sum(sends), 0)::int` })
    .from(unstoredRefusedSends)
    .where(and(eq(unstoredRefusedSends.accountId, accountId), sql`hour > now() - interval '7 days'`))
  return one(rows).sends
}

function shownRefusal(row: typeof refusedSends.$inferSelect) {
  return {
    requestId: row.requestId,
    at: timestampFromMs(timeOfId(row.id)),
    status: PUBLIC_ERRORS[row.error as PublicErrorReason].status,
    error: errorNames.value(row.error),
    message: row.message,
    fields: row.fields,
    from: row.sender ?? undefined,
    recipients: row.recipients,
    keyId: row.keyId === null ? undefined : publicId('key', row.keyId),
    protocol: row.protocol,
    count: row.count,
  }
}
