import type { Database } from './connect.ts'
import { one, run } from './statement.ts'

/** A replication slot: the server keeps its WAL for a receiver until it has got it. */
export interface Slot {
  /** Text from outside. */
  name: string
  /** `lost`: the server has removed WAL that its receiver still needs, which must begin anew. */
  state: 'active' | 'inactive' | 'lost'
  /** How much WAL is kept for it. */
  keptBytes: number
}

/** What can stop a whole PostgreSQL server, as every role may read it. */
export interface Cluster {
  /** Sessions of all databases, and how many ordinary roles may have together. */
  sessions: number
  sessionLimit: number
  slots: Slot[]
  /** Transactions since the oldest row that is not frozen. At about 2,100 million the server takes no more writes. */
  freezeAge: number
  /** How long the session waits for a lock that has waited longest, in any database; 0 without one. */
  lockWaitSeconds: number
  /** Dead rows of the tables of this database that vacuum has not removed. */
  deadRows: number
  /** Since a file of WAL was archived the last time; null while `archive_mode` is off or none was. */
  archivedSecondsAgo: number | null
}

// A standby has received WAL in the place of writing it.
const CLUSTER = `
  select
    (select sum(numbackends) from pg_stat_database)::int as sessions,
    (current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int) as "sessionLimit",
    (select coalesce(json_agg(json_build_object('name', slot_name,
        'state', case when wal_status = 'lost' then 'lost' when active then 'active' else 'inactive' end,
        'keptBytes', coalesce(pg_wal_lsn_diff(written.lsn, restart_lsn), 0)::float8) order by slot_name), '[]')
      from pg_replication_slots) as slots,
    (select max(age(datfrozenxid)) from pg_database)::float8 as "freezeAge",
    (select coalesce(max(extract(epoch from clock_timestamp() - waitstart)), 0) from pg_locks where not granted)::float8
      as "lockWaitSeconds",
    (select coalesce(sum(n_dead_tup), 0) from pg_stat_user_tables)::float8 as "deadRows",
    (select extract(epoch from clock_timestamp() - last_archived_time)::float8 from pg_stat_archiver
      where current_setting('archive_mode') <> 'off') as "archivedSecondsAgo"
  from (select case when pg_is_in_recovery() then pg_last_wal_receive_lsn() else pg_current_wal_lsn() end as lsn) written`

export const readCluster = async (db: Database): Promise<Cluster> => one(await run<Cluster>(db, CLUSTER))

/** A session that waits for a lock, and one that it waits for. */
export interface Block {
  waiting: number
  waitedSeconds: number
  /** Its process of PostgreSQL; 0 for a prepared transaction. */
  blocker: number
  user: string | null
  /** Text from outside: what the program calls itself. */
  application: string | null
  /** Text from outside: its last statement. null when the user of `db` may not see it. */
  query: string | null
  /** Since its transaction began; null when the user of `db` may not see it. */
  heldSeconds: number | null
}

// Whoever is not pg_read_all_stats sees neither the statements nor the times of other users' sessions.
const BLOCKS = `
  select w.pid as waiting, extract(epoch from clock_timestamp() - w.since)::float8 as "waitedSeconds",
    blocker, a.usename as "user", a.application_name as application,
    case when a.xact_start is null then null else a.query end as query,
    extract(epoch from clock_timestamp() - a.xact_start)::float8 as "heldSeconds"
  from (select pid, min(waitstart) as since from pg_locks where not granted group by pid) w
  cross join lateral unnest(pg_blocking_pids(w.pid)) as blocker
  left join pg_stat_activity a on a.pid = blocker
  order by w.since limit 20`

/** Who waits for whom, the longest wait first. */
export const readBlocks = (db: Database): Promise<Block[]> => run<Block>(db, BLOCKS)
