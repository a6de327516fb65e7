/** Why the database cannot be used, as sentences for the operator. */
export interface DatabaseFault {
  what: string
  wayOut: string
  /** Whether it can pass without a change of the configuration: the server is starting, or a migration is running. */
  canPass: boolean
}

/** What to do about a SQLSTATE, or about an error code of the socket, TLS or the driver. The first match counts. */
const RULES: [code: RegExp, canPass: boolean, wayOut: string][] = [
  [/^28/, false, "Correct the user and the password in DATABASE_URL, or the server's pg_hba.conf."],
  [/^3D/, false, 'Create the database, or correct its name in DATABASE_URL.'],
  [/^42501$/, false, 'Grant the user in DATABASE_URL the rights on the tables. To migrate, it must own them.'],
  [/^25006$/, true, 'It is read-only. Let it take writes, or name the primary server in DATABASE_URL.'],
  [/^53100$/, true, "Free space on PostgreSQL's disk."],
  [/^53300$/, true, 'Raise max_connections in PostgreSQL, or run fewer processes.'],
  [/^ERR_(TLS|SSL)|CERT|^UNABLE_TO/, false, "Correct the server's certificate, or sslmode in DATABASE_URL."],
  [/^ENOTFOUND$|^EAI_/, true, 'Check the host name in DATABASE_URL.'],
  [/^(08|53|57P)|^E[A-Z_]+$|^CONN/, true, 'Check that PostgreSQL runs, and the host and port in DATABASE_URL.'],
]

const UNDEFINED_TABLE = '42P01'

/** A database that was never migrated. */
export const NO_TABLES: DatabaseFault = {
  what: 'The database has no tables of Verdict.',
  wayOut: 'Create them: npm run migrate',
  canPass: true,
}

/** Thrown for a database that can be reached and must not be used by this version. */
export class UnusableDatabase extends Error {
  readonly fault: DatabaseFault
  constructor(fault: DatabaseFault) {
    super(`${fault.what} ${fault.wayOut}`)
    this.fault = fault
  }
}

/** A pooler refused the settings of a session. */
const NOT_POOLED: DatabaseFault = {
  what: 'DATABASE_URL names a pooler that refuses the settings of a session.',
  wayOut: 'Add ?prepare=false to DATABASE_URL (docs/scaling.md).',
  canPass: false,
}

/** Says what an error means for the database as a whole; undefined for a fault of one statement. */
export function databaseFault(error: unknown): DatabaseFault | undefined {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof UnusableDatabase) return cause.fault
    const { code, message } = cause as NodeJS.ErrnoException
    if (code === UNDEFINED_TABLE) return NO_TABLES
    if (message.startsWith('unsupported startup parameter')) return NOT_POOLED
    const rule = RULES.find(([pattern]) => code !== undefined && pattern.test(code))
    if (!rule) continue
    const [, canPass, wayOut] = rule
    // When every address of a name fails, the error has a code and no message.
    return { what: `The database cannot be used: ${message || code}.`, wayOut, canPass }
  }
  return undefined
}
