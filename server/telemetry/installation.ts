import { inTime } from '../async/timeout.ts'
import type { OperatorLimits } from '../config/limits.ts'
import { backupAge } from '../db/backup-age.ts'
import { readCluster } from '../db/cluster.ts'
import type { Database } from '../db/connect.ts'
import { INVALID_INDEXES } from '../db/invalid-indexes.ts'
import type { OldestTransaction } from '../db/oldest-transaction.ts'
import { FIRST_MISSING_DAY } from '../db/partitions.ts'
import { one, run } from '../db/statement.ts'
import { keepFresh } from './fresh.ts'
import type { Metrics } from './metrics.ts'

/** A reading that takes longer fails. */
const READ_MS = 5_000

const seconds = (time: string) => `coalesce(extract(epoch from clock_timestamp() - ${time}), 0)::float8`

// The open tables are small, and the catalogue knows the rest: nothing scans history. The day in a partition's name
// says which ids it holds.
export const READ_INSTALLATION = `
  select waiting.*, sends.*, days.*, domains.*, breakers.*,
    (select coalesce(max(extract(epoch from clock_timestamp()) - (book->>'slowedSinceMs')::float8 / 1000), 0)
      from site_books where changed_at > now() - interval '10 minutes')::float8 as "slowedSite",
    pg_database_size(current_database())::float8 as "databaseBytes",
    (select count(*)::int ${INVALID_INDEXES}) as "invalidIndexes"
  from (
    select
      count(*) filter (where workflow_id is null and lease_until is not null)::int as "firstAttempt",
      count(*) filter (where workflow_id is null and lease_until is null)::int as unassigned,
      count(*) filter (where workflow_id is not null)::int as scheduled,
      count(*) filter (where workflow_id is not null and due_at < clock_timestamp() - interval '2 minutes')::int
        as overdue,
      ${seconds('min(created_at)')} as "oldestWaiting",
      ${seconds('min(due_at) filter (where workflow_id is null and lease_until is null)')} as "oldestUnassigned"
    from open_dispatches
  ) waiting, (
    select count(*) filter (where lease_until >= clock_timestamp())::int as running,
      count(*) filter (where lease_until < clock_timestamp())::int as expired
    from open_messages
  ) sends, (
    select extract(epoch from ${FIRST_MISSING_DAY} - clock_timestamp() at time zone 'utc')::float8 as "historyAhead",
      extract(epoch from clock_timestamp() at time zone 'utc' - (min(day) + 1))::float8 as "historyAge"
    from (
      select to_date(right(c.relname, 8), 'YYYYMMDD') as day
      from pg_inherits i join pg_class c on c.oid = i.inhrelid
      where i.inhparent = 'messages'::regclass
    ) d
  ) days, (
    select count(*) filter (where status = 'pending')::int as pending,
      count(*) filter (where status = 'verified')::int as verified,
      count(*) filter (where status = 'failed')::int as failed,
      count(*) filter (where status = 'lapsed')::int as lapsed
    from domains
  ) domains, (
    select count(*) filter (where state = 'open')::int as open,
      count(*) filter (where state = 'half_open')::int as "halfOpen"
    from breakers
  ) breakers`

type Reading = Record<
  | 'firstAttempt'
  | 'unassigned'
  | 'scheduled'
  | 'overdue'
  | 'oldestWaiting'
  | 'oldestUnassigned'
  | 'running'
  | 'expired'
  | 'historyAhead'
  | 'historyAge'
  | 'pending'
  | 'verified'
  | 'failed'
  | 'lapsed'
  | 'open'
  | 'halfOpen'
  | 'slowedSite'
  | 'databaseBytes'
  | 'invalidIndexes',
  number
>

/** Reads what only the database knows, at scrapes and at most every ten seconds. */
export function watchInstallation(metrics: Metrics, db: Database): void {
  const read = async () => (await inTime(run<Reading>(db, READ_INSTALLATION), READ_MS))[0]
  const fresh = keepFresh<Reading | undefined>(read, undefined)
  metrics.refresh(fresh.renew)
  const show = showerOf(fresh.value)
  metrics.readingAge.read(() => (fresh.value() ? [[{}, fresh.ageMs() / 1_000]] : []))
  metrics.backlog.read(
    show(({ firstAttempt, unassigned, scheduled, overdue }) => [
      [{ state: 'first_attempt' }, firstAttempt],
      [{ state: 'unassigned' }, unassigned],
      [{ state: 'scheduled' }, scheduled - overdue],
      [{ state: 'overdue' }, overdue],
    ]),
  )
  metrics.oldestWaiting.read(show(({ oldestWaiting }) => [[{}, Math.max(0, oldestWaiting)]]))
  metrics.oldestUnassigned.read(show(({ oldestUnassigned }) => [[{}, Math.max(0, oldestUnassigned)]]))
  metrics.openSends.read(
    show(({ running, expired }) => [
      [{ state: 'running' }, running],
      [{ state: 'expired' }, expired],
    ]),
  )
  metrics.historyAhead.read(show(({ historyAhead }) => [[{}, Math.max(0, historyAhead)]]))
  metrics.historyAge.read(show(({ historyAge }) => [[{}, Math.max(0, historyAge)]]))
  metrics.domains.read(
    show(({ pending, verified, failed, lapsed }) => [
      [{ status: 'pending' }, pending],
      [{ status: 'verified' }, verified],
      [{ status: 'failed' }, failed],
      [{ status: 'lapsed' }, lapsed],
    ]),
  )
  metrics.breakers.read(
    show(({ open, halfOpen }) => [
      [{ state: 'open' }, open],
      [{ state: 'half_open' }, halfOpen],
    ]),
  )
  metrics.slowedSites.read(show(({ slowedSite }) => [[{}, slowedSite]]))
  metrics.invalidIndexes.read(show(({ invalidIndexes }) => [[{}, invalidIndexes]]))
  metrics.databaseBytes.read(show(({ databaseBytes }) => [[{}, databaseBytes]]))
}

/** Shows what can stop the whole server, read at scrapes and at most every ten seconds. */
export function watchCluster(metrics: Metrics, db: Database, backupFile: string | undefined): void {
  const read = async () => {
    const cluster = await inTime(readCluster(db), READ_MS)
    return { ...cluster, backupAge: await backupAge(backupFile, cluster) }
  }
  const fresh = keepFresh<Awaited<ReturnType<typeof read>> | undefined>(read, undefined)
  metrics.refresh(fresh.renew)
  const show = showerOf(fresh.value)
  metrics.clusterSessions.read(
    show(({ sessions, sessionLimit }) => [
      [{ state: 'open' }, sessions],
      [{ state: 'limit' }, sessionLimit],
    ]),
  )
  metrics.slots.read(
    show(({ slots }) =>
      (['active', 'inactive', 'lost'] as const).map((state) => [
        { state },
        slots.filter((slot) => slot.state === state).length,
      ]),
    ),
  )
  metrics.slotBytes.read(show(({ slots }) => [[{}, Math.max(0, ...slots.map(({ keptBytes }) => keptBytes))]]))
  metrics.freezeAge.read(show(({ freezeAge }) => [[{}, freezeAge]]))
  metrics.lockWait.read(show(({ lockWaitSeconds }) => [[{}, Math.max(0, lockWaitSeconds)]]))
  metrics.deadRows.read(show(({ deadRows }) => [[{}, deadRows]]))
  metrics.backupAge.read(show(({ backupAge }) => (backupAge === undefined ? [] : [[{}, backupAge]])))
}

/** Shows nothing until the first reading. */
const showerOf =
  <Reading>(read: () => Reading | undefined) =>
  <Labels>(of: (reading: Reading) => [Labels, number][]) =>
  () => {
    const reading = read()
    return reading ? of(reading) : []
  }

const QUOTAS = `
  select count(*) filter (where m.emails >= 0.8 * t.quota and m.emails < t.quota)::int as near,
    count(*) filter (where m.emails >= t.quota)::int as "usedUp"
  from monthly_emails m
  join accounts a on a.id = m.account_id
  join json_to_recordset($1::json) as t(name text, quota int)
    on t.name = coalesce((select name from json_to_recordset($1::json) as known(name text) where name = a.tier), $2)
  where m.month = date_trunc('month', now() at time zone 'UTC')::date`

/** Shows how many accounts are near their quota, read at scrapes and at most every ten seconds. */
export function watchQuotas(
  metrics: Metrics,
  db: Database,
  limits: Pick<OperatorLimits, 'tiers' | 'defaultTier'>,
): void {
  const none = { near: 0, usedUp: 0 }
  const fresh = keepFresh(async () => {
    const tiers = Object.entries(limits.tiers).map(([name, { emailsPerMonth: quota }]) => ({ name, quota }))
    if (tiers.every(({ quota }) => quota === undefined)) return none
    const parameters = [JSON.stringify(tiers), limits.defaultTier]
    return one(await inTime(run<typeof none>(db, QUOTAS, parameters), READ_MS))
  }, undefined)
  metrics.refresh(fresh.renew)
  metrics.quotaAccounts.read(() => {
    const counts = fresh.value()
    if (!counts) return []
    return [
      [{ state: 'near' }, counts.near],
      [{ state: 'used_up' }, counts.usedUp],
    ]
  })
}

/** Shows the age of the oldest transaction, read at scrapes and at most every ten seconds. */
export function watchOldestTransaction(metrics: Metrics, watch: () => Promise<OldestTransaction | undefined>): void {
  const fresh = keepFresh<OldestTransaction | 'unknown' | undefined>(() => inTime(watch(), READ_MS), 'unknown')
  metrics.refresh(fresh.renew)
  metrics.oldestTransaction.read(() => {
    const oldest = fresh.value()
    if (oldest === 'unknown') return []
    return (['verdict', 'other', 'prepared'] as const).map((owner) => [
      { owner },
      oldest && owner === groupOf(oldest) ? oldest.seconds : 0,
    ])
  })
}

function groupOf({ pid, application }: OldestTransaction): 'verdict' | 'other' | 'prepared' {
  if (pid === null) return 'prepared'
  return /^verdict( |$)/.test(application) ? 'verdict' : 'other'
}
