import { workOnEach } from '../async/each.ts'
import type { Database } from '../db/connect.ts'
import { STATS_COUNTS } from '../db/schema.ts'
import { run, UNPREPARED } from '../db/statement.ts'
import { DAY_ROWS, MERGED_SHARD } from './counts.ts'
import { simulatedIdOf } from './simulated.ts'

// An account with 20 domains has 480 rows of a day. Once a day is over, its sums are kept in one more row, so that 400
// days are 400 rows.

/** SQL: the start of the first day (UTC) that is not summed up yet. The hours before it are merged by then. */
const OPEN_DAY = `date_trunc('day', now() - interval '1 hour', 'UTC')`

/** SQL: the hours of an account that no day row contains. `account` is SQL, too. */
const newHours = (account: string) => `hourly_stats
    where account_id = ${account} and tenant_id = '' and hour < ${OPEN_DAY} and hour >= coalesce((
      select max(hour) + interval '1 day' from hourly_stats where account_id = ${account} and tenant_id = '${DAY_ROWS}'
    ), '-infinity')`

const ACCOUNTS = `
  select id from (select id from accounts union all select ${simulatedIdOf('id')} from accounts) as a
  where exists (select from ${newHours('a.id')})
    and not exists (
      select from hourly_stats s where s.account_id = a.id and s.shard <> ${MERGED_SHARD} and s.hour < ${OPEN_DAY})`

// A row of a day contains every hour of it, and rows are written in the order of the days: whatever is older than the
// latest row needs no look at its hours. Another process at the same work finds the same sums.
const SUM_DAYS = `
  insert into hourly_stats (account_id, tenant_id, hour, domain, shard, ${STATS_COUNTS.join(', ')})
  select account_id, '${DAY_ROWS}', date_trunc('day', hour, 'UTC'), '', ${MERGED_SHARD},
    ${STATS_COUNTS.map((column) => `sum(${column})`).join(', ')}
  from ${newHours('$1')}
  group by account_id, date_trunc('day', hour, 'UTC')
  on conflict do nothing`

/** Sums up every day that is over, one account after another. */
export async function sumDays(db: Database): Promise<void> {
  await workOnEach(await run<{ id: string }>(db, ACCOUNTS, [], UNPREPARED), ({ id }) =>
    run(db, SUM_DAYS, [id], UNPREPARED),
  )
}
