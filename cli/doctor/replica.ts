import { setTimeout as sleep } from 'node:timers/promises'
import { inTime } from '../../server/async/timeout.ts'
import { readReplicaUrls } from '../../server/config/database-url.ts'
import { checkMigrations } from '../../server/db/applied-migrations.ts'
import { connect, type Database } from '../../server/db/connect.ts'
import { databaseFault, NO_TABLES } from '../../server/db/database-fault.ts'
import { MOST_LAG_MS } from '../../server/db/replicas.ts'
import { type Beat, beat, type Followed, follow } from '../../server/db/replication.ts'
import { type CheckFinding, type DoctorCheck, failure, ok, onTables, skipped, warning, worstOf } from './check.ts'

const ANSWER_MS = 5_000
/** How long a replica has to show the beat of this diagnosis. */
const FOLLOW_MS = 3_000
const PAUSE_MS = 50

const replicas: DoctorCheck = {
  name: 'replicas',
  about: 'every replica of `DATABASE_READ_URL` is a standby of the database, has its tables, and follows closely',
  reads: ['DATABASE_URL', 'DATABASE_READ_URL'],
  run: onTables(async (db, { config: { databaseReadUrl } }) => {
    if (databaseReadUrl === undefined) return skipped('DATABASE_READ_URL is not set: the primary serves all reads')
    const newest = await beat(db)
    const findings = readReplicaUrls(databaseReadUrl).map(async ({ host, url }) => {
      const finding = await examineReplica(url, newest)
      return { ...finding, seen: `${host.host}:${host.port} ${finding.seen}` }
    })
    return worstOf(await Promise.all(findings))
  }),
}

async function examineReplica(url: string, newest: Beat): Promise<CheckFinding> {
  const db = connect(url, { connections: 1 })
  try {
    return await inTime(findingOf(db, newest), ANSWER_MS, () => new Error('no answer'))
  } catch (error) {
    if (databaseFault(error) === NO_TABLES) return failure('has no tables of Verdict', COPY)
    return warning(`cannot be read (${reasonOf(error)}): the primary serves its reads`, 'Start it, or correct the URL.')
  } finally {
    await db.$client.end({ timeout: 0 })
  }
}

const COPY = 'Name a physical standby of the database in DATABASE_URL.'

async function findingOf(db: Database, newest: Beat): Promise<CheckFinding> {
  const startedMs = performance.now()
  let followed: Followed
  do {
    followed = await follow(db)
    if (followed.database !== newest.database) return failure('is no copy of the database in DATABASE_URL', COPY)
    if (followed.beatMs >= newest.beatMs) break
    await sleep(PAUSE_MS)
  } while (performance.now() - startedMs < FOLLOW_MS)
  if (!followed.isStandby) return warning('is no standby: its reads cost the primary', COPY)
  const lagMs = newest.beatMs - followed.beatMs
  if (lagMs > MOST_LAG_MS)
    return warning(`is ${Math.round(lagMs / 1_000)} s behind: the primary serves its reads`, LOOK)
  if ((await checkMigrations(db)).state !== 'ok') return warning('lacks migrations of this version', LOOK)
  return ok(
    lagMs > 0
      ? `is ${Math.ceil(lagMs / 1_000)} s behind`
      : `follows within ${Math.ceil(performance.now() - startedMs)} ms`,
  )
}

const LOOK = 'Look at pg_stat_replication on the primary, and at the log of the replica.'

const reasonOf = (error: unknown) => (error as NodeJS.ErrnoException).message || (error as NodeJS.ErrnoException).code

export const REPLICA_CHECKS = [replicas]
