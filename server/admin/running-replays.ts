import { create, equals, fromJson } from '@bufbuild/protobuf'
import { type ReplayFilter, ReplayFilterSchema } from '../../gen/verdict/admin/v1/replays_pb.ts'
import type { Database, Transaction } from '../db/connect.ts'
import { and, eq } from '../db/drizzle.ts'
import { rangeReplays } from '../db/people-schema.ts'
import { refuseMore } from './running-work.ts'

export type ReplayRow = typeof rangeReplays.$inferSelect

/** What tells two replays apart. */
export type AskedReplay = Pick<ReplayRow, 'filter' | 'isOpenEnded'>

/**
 * Finds the running replay that has the same filter; undefined when the account may start another one. Throws
 * `rate_limit_exceeded` when it has as many as it may.
 */
export async function findRunning(
  db: Database | Transaction,
  accountId: string,
  asked: AskedReplay,
): Promise<ReplayRow | undefined> {
  const running = await db
    .select()
    .from(rangeReplays)
    .where(and(eq(rangeReplays.accountId, accountId), eq(rangeReplays.state, 'running')))
  const same = running.find((row) => equals(ReplayFilterSchema, givenFilter(row), givenFilter(asked)))
  if (!same) refuseMore('replay', running.length)
  return same
}

/** The filter as the caller gave it. */
function givenFilter({ filter, isOpenEnded }: AskedReplay): ReplayFilter {
  const given = fromJson(ReplayFilterSchema, filter)
  return isOpenEnded ? create(ReplayFilterSchema, { ...given, to: undefined }) : given
}
