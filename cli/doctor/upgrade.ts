import packageJson from '../../package.json' with { type: 'json' }
import {
  checkApplied,
  compareReleases,
  type Migration,
  newestRelease,
  pendingOf,
  readAppliedMigrations,
} from '../../server/db/applied-migrations.ts'
import { readSessionReleases } from '../../server/db/session-releases.ts'
import { wayOutOf } from '../database.ts'
import {
  type CheckFinding,
  type CheckGroup,
  type DoctorCheck,
  failure,
  firstOf,
  ok,
  onTables,
  warning,
} from './check.ts'
import { CLUSTER_CHECKS } from './cluster.ts'
import { DATABASE_CHECKS } from './database.ts'
import { TRANSACTION_CHECKS } from './transactions.ts'

const migrations: DoctorCheck = {
  name: 'migrations',
  about: 'the database has no migration that this release cannot run beside',
  reads: ['DATABASE_URL'],
  run: onTables(async (db) => {
    const applied = await readAppliedMigrations(db)
    const check = checkApplied(applied)
    if (check.state === 'ok') return ok('all applied')
    if (check.state !== 'pending') return failure(check.fault.what.replace(/\.$/, ''), wayOutOf(check.fault))
    return ok(`${pendingOf(applied).length} to apply: npm run migrate`)
  }),
}

const releases: DoctorCheck = {
  name: 'releases',
  about: 'no process of a release uses the database that cannot run on its tables, now or after the migration',
  reads: ['DATABASE_URL'],
  run: onTables(async (db) => {
    const pending = pendingOf(await readAppliedMigrations(db))
    return releasesFinding(await readSessionReleases(db), pending)
  }),
}

/** `sessions`: the release of each. `pending`: the migrations that are not applied. */
export function releasesFinding(
  sessions: readonly string[],
  pending: readonly Pick<Migration, 'oldestRelease'>[],
): CheckFinding {
  const others = sessions.filter((release) => release !== packageJson.version)
  const count = others.length === 1 ? '1 session' : `${others.length} sessions`
  const seen = `${count} of ${firstOf([...new Set(others.map((release) => release || '0.2 or older'))])}`
  if (others.length === 0) return ok(`no process of another release than ${packageJson.version}`)
  const oldest = newestRelease(pending.map(({ oldestRelease }) => oldestRelease))
  const cannotStay = oldest === undefined ? [] : others.filter((release) => compareReleases(release, oldest) < 0)
  if (cannotStay.length > 0)
    return warning(
      `${seen}: they cannot run on the new tables, and the migration refuses to begin beside them`,
      'Make a back-up. Then stop every API and worker process of that release, migrate, and start the new one.',
    )
  if (pending.length > 0) return ok(`${seen}: they go on while the database is migrated`)
  return warning(seen, 'Start the new release in their place, one process after the other.')
}

const OF_THE_DATABASE = ['database', 'writable']
const OF_THE_CLUSTER = ['locks', 'space', 'backup']

export const UPGRADE_GROUPS: readonly CheckGroup[] = [
  {
    title: `Upgrade to ${packageJson.version}`,
    checks: [...DATABASE_CHECKS.filter(({ name }) => OF_THE_DATABASE.includes(name)), migrations, releases],
  },
  {
    title: 'PostgreSQL server',
    checks: [...CLUSTER_CHECKS.filter(({ name }) => OF_THE_CLUSTER.includes(name)), ...TRANSACTION_CHECKS],
  },
]
