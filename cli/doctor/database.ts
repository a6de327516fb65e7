import { peopleWithLostFactors } from '../../server/access/people/second-factors.ts'
import { readDatabaseUrl } from '../../server/config/database-url.ts'
import { checkMigrations } from '../../server/db/applied-migrations.ts'
import { databaseTime } from '../../server/db/clock.ts'
import { type Database, PLANNER_SETTINGS, STATEMENT_MS } from '../../server/db/connect.ts'
import { databaseFault, NO_TABLES } from '../../server/db/database-fault.ts'
import { CREATE_DATABASE, textFault } from '../../server/db/encoding.ts'
import { createSealer } from '../../server/db/encryption.ts'
import { INVALID_INDEXES } from '../../server/db/invalid-indexes.ts'
import { findUnopenedValues, type UnopenedValues } from '../../server/db/lost-encryption-keys.ts'
import { one, run } from '../../server/db/statement.ts'
import { probeWrites } from '../../server/ledger/probe-writes.ts'
import { countSecrets } from '../../server/process/stored-secrets.ts'
import { wayOutOf } from '../database.ts'
import type { CheckFinding, DoctorCheck } from './check.ts'
import { failure, firstOf, ok, onTables, skipped, warning } from './check.ts'

const OLDEST_POSTGRES = 15

const database: DoctorCheck = {
  name: 'database',
  about: 'PostgreSQL can be used, and is not too old',
  reads: ['DATABASE_URL'],
  async run(patient) {
    const db = await patient.database().catch((error: Error) => error)
    if (db instanceof Error) {
      const { what, wayOut } = databaseFault(db) ?? { what: db.message, wayOut: 'Check DATABASE_URL.' }
      return failure(what.replace(/\.$/, ''), `${wayOut} In development, npm start runs a database here.`)
    }
    return versionFinding(one(await run<{ server_version: string }>(db, 'show server_version')).server_version)
  },
}

export function versionFinding(version: string): CheckFinding {
  if (Number.parseInt(version, 10) >= OLDEST_POSTGRES) return ok(`PostgreSQL ${version}`)
  return failure(`PostgreSQL ${version} is too old`, `Upgrade it to ${OLDEST_POSTGRES} or later.`)
}

const WRITABLE = `select pg_is_in_recovery() as "isStandby", current_setting('transaction_read_only') = 'on' as "isReadOnly"`

const writable: DoctorCheck = {
  name: 'writable',
  about: 'the database takes writes: it is neither a standby nor read-only',
  reads: ['DATABASE_URL'],
  run: onTables(async (db) => {
    const { isStandby, isReadOnly } = one(await run<{ isStandby: boolean; isReadOnly: boolean }>(db, WRITABLE))
    if (isStandby)
      return failure('it is a standby, which takes no writes: no mail is sent', 'Name the primary in DATABASE_URL.')
    if (isReadOnly)
      return failure(
        'it is read-only: no mail is sent',
        'Turn default_transaction_read_only off, for the server, the database and the user.',
      )
    return ok('it takes writes')
  }),
}

const writes: DoctorCheck = {
  name: 'writes',
  about: 'the claim, the marker and the record of a send can be stored; what is stored is rolled back',
  reads: ['DATABASE_URL'],
  run: onTables(async (db) => {
    try {
      await probeWrites(db, await databaseTime(db))
      return ok('a send can be stored')
    } catch (error) {
      const { message } = (error as Error).cause instanceof Error ? ((error as Error).cause as Error) : (error as Error)
      return failure(
        `a send cannot be stored: ${message}`,
        databaseFault(error)?.wayOut ??
          'Look for locks in pg_locks, for triggers that are not ours, and for lost rights.',
      )
    }
  }),
}

const indexes: DoctorCheck = {
  name: 'indexes',
  about: 'every index was built to its end',
  reads: ['DATABASE_URL'],
  run: onTables(async (db) => {
    const rows = await run<{ name: string }>(db, `select c.relname as name ${INVALID_INDEXES}`)
    if (rows.length === 0) return ok('all are valid')
    return warning(
      `${firstOf(rows.map(({ name }) => name))}: the build failed, so lists are slow, and each write pays for it`,
      'Build it again: REINDEX INDEX CONCURRENTLY <name>',
    )
  }),
}

const encoding: DoctorCheck = {
  name: 'encoding',
  about: 'the database stores the letters of every language, and finds addresses in capital letters',
  reads: ['DATABASE_URL'],
  run: onTables(async (db) => {
    const fault = await textFault(db)
    return fault ? failure(fault, `Restore a dump of it into one made by: ${CREATE_DATABASE}`) : ok('UTF8')
  }),
}

const migrations: DoctorCheck = {
  name: 'migrations',
  about: 'the database has the tables of this version',
  reads: ['DATABASE_URL'],
  async run(patient) {
    const db = await patient.database().catch(() => undefined)
    if (!db) return skipped('the database cannot be used')
    try {
      const check = await checkMigrations(db)
      if (check.state === 'ok') return ok('all applied')
      return failure(`${check.fault.what.replace(/\.$/, '')}: the API is not ready on it`, wayOutOf(check.fault))
    } catch (error) {
      if (databaseFault(error) !== NO_TABLES) throw error
      return failure(NO_TABLES.what.replace(/\.$/, ''), NO_TABLES.wayOut)
    }
  },
}

const FAR_MS = 60_000
const OFF_MS = 2_000

const clock: DoctorCheck = {
  name: 'clock',
  about: "this machine's clock agrees with the database's, to 2 seconds",
  reads: ['DATABASE_URL'],
  run: onTables(async (db) => clockFinding(await offsetOf(db))),
}

/** How far this machine's clock is ahead of the database's, in milliseconds; wrong by half a round trip at most. */
async function offsetOf(db: Database): Promise<number> {
  const before = Date.now()
  const databaseMs = await databaseTime(db)
  return (before + Date.now()) / 2 - databaseMs
}

export function clockFinding(offsetMs: number): CheckFinding {
  const s = Math.abs(offsetMs) / 1_000
  const direction = offsetMs > 0 ? 'ahead of' : 'behind'
  const seen = `this machine's clock is ${s.toFixed(s < 10 ? 1 : 0)} s ${direction} the database's`
  const wayOut = 'Run a time service, such as chrony, on both machines.'
  if (s * 1_000 >= FAR_MS) return failure(`${seen}: receivers refuse signatures and webhooks with such times`, wayOut)
  return s * 1_000 >= OFF_MS ? warning(seen, wayOut) : ok(`${Math.round(s * 1_000)} ms from the database's`)
}

const secrets: DoctorCheck = {
  name: 'secrets',
  about: '`ENCRYPTION_KEYS` opens every value that is stored encrypted',
  reads: ['DATABASE_URL', 'ENCRYPTION_KEYS'],
  run: onTables(async (db, { config: { encryptionKeys } }) => {
    const sealer = createSealer(encryptionKeys)
    const unopened = await findUnopenedValues(db, sealer)
    if (unopened.length > 0) return unopenedFinding(unopened)
    const people = await peopleWithLostFactors(db, sealer)
    if (people.length > 0) return lostFactorsFinding(people)
    const { total, older } = await countSecrets(db, encryptionKeys)
    const { id } = encryptionKeys[0]!
    if (older === 0) return ok(`all ${total} are sealed with the key ${id}`)
    return ok(`${older} of ${total} are sealed with an older key than ${id}: verdict secrets rotate`)
  }),
}

function unopenedFinding(unopened: UnopenedValues[]): CheckFinding {
  const lost = [...new Set(unopened.filter(({ isKeyLost }) => isKeyLost).map(({ key }) => JSON.stringify(key)))]
  const seen = unopened.map(({ values, table, why }) => `one of ${values} in ${table}: ${why}`).join('; ')
  if (lost.length === 0)
    return failure(
      `damaged values: ${seen}`,
      'Restore the row from a back-up, or rotate the DKIM key, or set the webhook again.',
    )
  return failure(
    `the key ${lost.join(' and ')} is lost, so the API does not start: ${seen}`,
    'Add that key to ENCRYPTION_KEYS again, after the first, and run: verdict secrets rotate. ' +
      'If it is gone for ever, name it in LOST_ENCRYPTION_KEYS.',
  )
}

function lostFactorsFinding(people: string[]): CheckFinding {
  return warning(
    `the key of the second factor of ${people.join(', ')} is lost: they cannot sign in`,
    'Add that key to ENCRYPTION_KEYS again, after the first, and run: verdict secrets rotate. ' +
      'If it is gone for ever, remove these people and invite them again.',
  )
}

const SETTINGS = 'select name, setting, current_user::text as "user" from pg_settings where name = any($1::text[])'

const WANTED: Record<string, string> = { ...PLANNER_SETTINGS, statement_timeout: String(STATEMENT_MS) }

const settings: DoctorCheck = {
  name: 'settings',
  about: 'sessions have the settings of the service, also behind a pooler',
  reads: ['DATABASE_URL'],
  run: onTables(async (db, { config: { databaseUrl } }) => {
    const rows = await run<{ name: string; setting: string; user: string }>(db, SETTINGS, [`{${Object.keys(WANTED)}}`])
    const wrong = rows.filter(({ name, setting }) => setting !== WANTED[name])
    const { isPooled } = readDatabaseUrl(databaseUrl)
    const place = isPooled ? 'through a pooler (prepare=false)' : 'direct sessions'
    if (wrong.length === 0) return ok(place)
    const seen = `${place}: ${wrong.map(({ name, setting }) => `${name} is ${setting}`).join(', ')}`
    if (!isPooled) return failure(`${seen}, which is not what the service sets`, UNSET)
    const lines = wrong.map(({ name, user }) => `alter role "${user}" set ${name} = ${WANTED[name]};`)
    return warning(`${seen}, so statements can be slow or last for ever`, `Run this: ${lines.join(' ')}`)
  }),
}

const UNSET = 'A pooler ignores them. If it pools transactions, add ?prepare=false to DATABASE_URL, or sends will fail.'

export const DATABASE_CHECKS = [database, writable, writes, indexes, encoding, migrations, settings, clock, secrets]
