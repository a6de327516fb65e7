import { statfs } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { cleanText } from '../../net/clean-text.ts'
import { backupAge } from '../../server/db/backup-age.ts'
import { type Block, type Cluster, readBlocks, readCluster, type Slot } from '../../server/db/cluster.ts'
import { ownerOf } from '../../server/db/oldest-transaction.ts'
import { one, run } from '../../server/db/statement.ts'
import {
  type CheckFinding,
  type DoctorCheck,
  failure,
  firstOf,
  ok,
  onTables,
  skipped,
  warning,
  worstOf,
} from './check.ts'
import { howToEnd, programOf } from './transactions.ts'

// What can stop the whole PostgreSQL server, or everything that waits for one of its sessions.

/** Own statements give up a lock after a second. */
const LONG_WAIT_SECONDS = 1
const SHOWN_CHARACTERS = 80

const locks: DoctorCheck = {
  name: 'locks',
  about: 'no session waits more than a second for a lock that another one holds',
  reads: ['DATABASE_URL'],
  run: onTables(async (db) => {
    const [first] = await readBlocks(db)
    if (!first) return ok('no session waits')
    if (first.waitedSeconds < LONG_WAIT_SECONDS) await sleep(LONG_WAIT_SECONDS * 1_000)
    const [{ user } = { user: '' }] = await run<{ user: string }>(db, 'select current_user::text as "user"')
    return locksFinding(await readBlocks(db), user)
  }),
}

/** `user`: who reads them. */
export function locksFinding(blocks: readonly Block[], user: string): CheckFinding {
  const block = blocks.find(({ waitedSeconds }) => waitedSeconds >= LONG_WAIT_SECONDS)
  if (!block) return ok('no session waits for long')
  const { blocker, application, heldSeconds, query } = block
  const waiting = new Set(blocks.map((each) => each.waiting)).size
  const since = heldSeconds === null ? '' : `, open for ${Math.floor(heldSeconds)} s`
  const who =
    blocker === 0
      ? 'a prepared transaction'
      : `${ownerOf({ pid: blocker, gid: null })} (user ${block.user}${programOf(application)}${since})`
  const what = query === null ? '' : `. Its last statement: ${cleanText(query.slice(0, SHOWN_CHARACTERS))}`
  const seen =
    `${waiting} ${waiting === 1 ? 'session waits' : 'sessions wait'}, the longest for ` +
    `${Math.floor(block.waitedSeconds)} s, for ${who}${what}`
  const end = blocker === 0 ? 'Commit it, or roll it back: pg_prepared_xacts.' : howToEnd(blocker)
  const rights = query === null && blocker !== 0 ? ` To see its statement: grant pg_read_all_stats to "${user}";` : ''
  return warning(seen, end + rights)
}

const onCluster = (find: (cluster: Cluster) => CheckFinding) => onTables(async (db) => find(await readCluster(db)))

const NEARLY = 0.8

const sessions: DoctorCheck = {
  name: 'sessions',
  about: 'the PostgreSQL server has sessions left: fewer than 80 % of `max_connections` are open',
  reads: ['DATABASE_URL'],
  run: onCluster(({ sessions, sessionLimit }) => {
    const seen = `${sessions} of ${sessionLimit} are open`
    return sessions < NEARLY * sessionLimit
      ? ok(seen)
      : warning(seen, 'Raise max_connections, or put a pooler before PostgreSQL: docs/scaling.md.')
  }),
}

const GIB = 2 ** 30
/** A receiver that is away this long has not only been restarted. */
const MUCH_WAL_BYTES = 10 * GIB

const slots: DoctorCheck = {
  name: 'replication_slots',
  about: 'no replication slot is lost, and none without a receiver keeps more than 10 GiB of WAL',
  reads: ['DATABASE_URL'],
  run: onCluster(({ slots }) => (slots.length === 0 ? ok('there are none') : worstOf(slots.map(slotFinding)))),
}

export function slotFinding({ name, state, keptBytes }: Slot): CheckFinding {
  const shown = cleanText(name)
  const kept = `${(keptBytes / GIB).toFixed(1)} GiB of WAL`
  if (state === 'lost')
    return failure(
      `${shown} is lost: the WAL that its receiver needs is gone`,
      `Drop it (select pg_drop_replication_slot('${shown}');), and make the standby or the back-up anew: docs/backup.md.`,
    )
  if (state === 'inactive' && keptBytes > MUCH_WAL_BYTES)
    return warning(
      `${shown} has no receiver and keeps ${kept}, until the disk is full`,
      `Start its receiver, or drop it: select pg_drop_replication_slot('${shown}');`,
    )
  return ok(`${shown} is ${state}, with ${kept}`)
}

/** Vacuum freezes from 200 million on; from 1,600 million on PostgreSQL does it with all its strength. */
const OLD_ROWS = 1_000_000_000
const MILLION = 1_000_000

const freeze: DoctorCheck = {
  name: 'freeze',
  about: 'old rows are frozen in time: PostgreSQL takes no writes when they are 2,100 million transactions old',
  reads: ['DATABASE_URL'],
  run: onCluster(({ freezeAge }) => freezeFinding(freezeAge)),
}

export function freezeFinding(freezeAge: number): CheckFinding {
  const seen = `the oldest row is ${Math.floor(freezeAge / MILLION)} million transactions old`
  if (freezeAge < OLD_ROWS) return ok(seen)
  return warning(
    `${seen}; at 2,100 million no mail can be sent`,
    'End old transactions, prepared ones and unused replication slots, which hold vacuum up. Then: vacuumdb --all --freeze',
  )
}

/** Vacuum begins at a fifth of a table. The open tables are small, so that few rows are a large part of them. */
const MANY_DEAD_ROWS = 1_000_000

const DEAD_ROWS = `
  select relname as name, n_dead_tup::float8 as dead from pg_stat_user_tables
  where n_dead_tup > $1 and n_dead_tup > n_live_tup order by n_dead_tup desc`

const deadRows: DoctorCheck = {
  name: 'dead_rows',
  about: 'no table has a million dead rows, and more of them than others',
  reads: ['DATABASE_URL'],
  run: onTables(async (db) => {
    const tables = await run<{ name: string; dead: number }>(db, DEAD_ROWS, [MANY_DEAD_ROWS])
    if (tables.length === 0) return ok('few')
    const seen = firstOf(tables.map(({ name, dead }) => `${name} has ${Math.floor(dead / MILLION)} million`))
    return warning(
      `${seen}: each statement on it reads them, too`,
      'End old transactions, which hold vacuum up, or give autovacuum more time (autovacuum_vacuum_cost_limit).',
    )
  }),
}

const LOW_SHARE = 0.1
const PLACE = `select pg_database_size(current_database())::float8 as bytes, inet_server_addr() is null
  or inet_server_addr() << '127.0.0.0/8' as "isHere", (select setting from pg_settings where name = 'data_directory') as dir`

const space: DoctorCheck = {
  name: 'space',
  about: 'the disk of the database has a tenth of its space left, when it is on this machine',
  reads: ['DATABASE_URL'],
  run: onTables(async (db) => {
    const { bytes, isHere, dir } = one(await run<{ bytes: number; isHere: boolean; dir: string | null }>(db, PLACE))
    const disk = isHere && dir ? await statfs(dir).catch(() => undefined) : undefined
    const size = `the database has ${(bytes / GIB).toFixed(1)} GiB`
    if (!disk) return ok(`${size}; the space that is left cannot be seen from here`)
    const free = disk.bavail * disk.bsize
    const seen = `${size}, and its disk ${(free / GIB).toFixed(1)} GiB left`
    if (disk.bavail >= LOW_SHARE * disk.blocks) return ok(seen)
    return warning(seen, 'Give it more space, or keep history for fewer days. When it is full, no mail is sent.')
  }),
}

const HOUR = 3_600
/** Once a day, and two hours for the back-up itself. */
const OLD_BACKUP_HOURS = 26

const backup: DoctorCheck = {
  name: 'backup',
  about: 'the newest back-up is younger than 26 hours: by `BACKUP_FILE`, or else by the archive of WAL',
  reads: ['DATABASE_URL', 'BACKUP_FILE'],
  run: onTables(async (db, { config: { backupFile } }) => {
    const seconds = await backupAge(backupFile, await readCluster(db))
    if (seconds === undefined)
      return backupFile === undefined
        ? skipped('its age is not known: nothing is archived, and BACKUP_FILE is not set')
        : warning(`${backupFile} does not exist`, 'Let each back-up write it when it has ended: docs/backup.md.')
    const seen = `the newest one is ${Math.floor(seconds / HOUR)} hours old`
    return seconds < OLD_BACKUP_HOURS * HOUR
      ? ok(seen)
      : warning(seen, 'Look at what makes them, and make one now: docs/backup.md.')
  }),
}

export const CLUSTER_CHECKS = [locks, sessions, slots, freeze, deadRows, space, backup]
