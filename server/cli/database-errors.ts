import { Failure } from './command.ts'

const UNDEFINED_TABLE = '42P01'

/** What an error of the driver says about reaching the database; undefined for any other error. */
export function reachability(error: unknown): Failure | undefined {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const { code } = cause as NodeJS.ErrnoException
    if (code === UNDEFINED_TABLE)
      return new Failure('configuration', 'The database has no tables of Verdict. Make them: npm run migrate')
    // 08: connection, 28: authorisation, 3D: no such database, 53: resources, 57P: shutting down; the others are of the socket or driver.
    if (code && /^(08|28|3D|53|57P)|^E[A-Z_]+$|^CONN/.test(code)) {
      // What failed at every address of a name has no message, only a code.
      return new Failure('unavailable', `The database cannot be reached: ${cause.message || code}${wayOut()}`)
    }
  }
  return undefined
}

/** For a database that nobody named. */
function wayOut(): string {
  return process.env.DATABASE_URL ? '' : '\nIt is the one that npm start runs here. Is npm start running?'
}
