import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { Database } from '../../db/connect.ts'
import { asc, inArray } from '../../db/drizzle.ts'
import { feedbackNames, reasonNames } from '../../db/outcome-names.ts'
import { feedback } from '../../db/schema.ts'

export type ReportRow = typeof feedback.$inferSelect

/** Reads what came back about messages after their outcomes, oldest first, by the id of the message. */
export async function reportsAbout(db: Database, messageIds: string[]): Promise<Map<string, ReportRow[]>> {
  if (messageIds.length === 0) return new Map()
  const rows = await db.select().from(feedback).where(inArray(feedback.messageId, messageIds)).orderBy(asc(feedback.id))
  const reports = Map.groupBy(rows, ({ messageId }) => messageId)
  return new Map([...reports].map(([id, those]) => [id, withoutReplaced(those)]))
}

/** What every response shows of a report. */
export const reportOf = ({ kind, reason, reportedAt, recipient, isMember }: ReportRow) => ({
  kind: feedbackNames.value(kind),
  reason: reason === null ? undefined : reasonNames.value(reason),
  reportedAt: timestampFromDate(reportedAt),
  recipient,
  member: isMember || undefined,
})

/** A report about the recipient itself replaces one of its kind about a member. */
const withoutReplaced = (reports: ReportRow[]) =>
  reports.filter(
    (report) =>
      !report.isMember ||
      !reports.some(
        ({ isMember, kind, recipient }) => !isMember && kind === report.kind && recipient === report.recipient,
      ),
  )
