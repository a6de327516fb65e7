import type { Database } from '../../server/db/connect.ts'
import { RETENTION_MS } from '../../server/db/retention.ts'
import { HISTORY } from '../../server/db/schema.ts'
import { one, run } from '../../server/db/statement.ts'
import type { DoctorCheck } from './check.ts'
import { failure, ok, onTables, warning } from './check.ts'

/** The retention runs once a day. */
const LATE_DAYS = 2
const DAY_MS = 86_400_000

interface Days {
  /** The tables that have no partition for today or tomorrow. */
  missing: string[] | null
  /** How many partitions there are. */
  partitions: number
  /** `YYYYMMDD` */
  oldest: string | null
  newest: string | null
  /** Partitions older than the retention and its delay. */
  late: number
}

// The name of a partition ends with its day.
const DAYS = `
  with today as (select (clock_timestamp() at time zone 'utc')::date as day),
  partitions as (
    select p.relname as parent, right(c.relname, 8) as day
    from pg_inherits i join pg_class p on p.oid = i.inhparent join pg_class c on c.oid = i.inhrelid
    where p.relname = any($1::text[]) and p.relnamespace = current_schema()::regnamespace
  ),
  wanted as (
    select parent, to_char(today.day + ahead, 'YYYYMMDD') as day
    from unnest($1::text[]) as parent, generate_series(0, 1) as ahead, today
  )
  select (select json_agg(distinct parent) from wanted w
      where not exists (select from partitions p where p.parent = w.parent and p.day = w.day)) as missing,
    (select count(*)::int from partitions) as partitions,
    (select min(day) from partitions) as oldest, (select max(day) from partitions) as newest,
    (select count(*)::int from partitions, today where partitions.day < to_char(today.day - $2::int, 'YYYYMMDD')) as late`

async function daysOf(db: Database): Promise<Days> {
  return one(await run<Days>(db, DAYS, [`{${Object.keys(HISTORY)}}`, RETENTION_MS / DAY_MS + LATE_DAYS]))
}

const shown = (day: string) => day.replace(/(....)(..)(..)/, '$1-$2-$3')

const partitions: DoctorCheck = {
  name: 'partitions',
  about: 'every table of history has a partition for today and for tomorrow',
  reads: ['DATABASE_URL'],
  run: onTables(async (db) => {
    const { missing, partitions, newest } = await daysOf(db)
    if (partitions === 0 || newest === null) return warning('there are none yet', 'Start the API: it creates them.')
    if (!missing) return ok(`until ${shown(newest)}`)
    return failure(
      `${missing.join(', ')} have none for today or tomorrow: no mail can be sent on a day without one`,
      'Start the API, which creates them. If it runs, its log says "partitions could not be created", and why.',
    )
  }),
}

const retention: DoctorCheck = {
  name: 'retention',
  about: 'history that is over is dropped',
  reads: ['DATABASE_URL'],
  run: onTables(async (db) => {
    const { oldest, late } = await daysOf(db)
    if (oldest === null) return ok('nothing is stored')
    if (late === 0) return ok(`the oldest day is ${shown(oldest)}`)
    return warning(
      `it is behind: ${late} partitions should be gone, the oldest of ${shown(oldest)}`,
      'Look at the Schedule "retention" in Temporal, and at the log of the worker.',
    )
  }),
}

export const STORAGE_CHECKS = [partitions, retention]
