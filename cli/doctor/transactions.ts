import { setTimeout as sleep } from 'node:timers/promises'
import { cleanText } from '../../net/clean-text.ts'
import {
  HELD_SECONDS,
  type OpenTransaction,
  ownerOf,
  readOldestTransaction,
} from '../../server/db/oldest-transaction.ts'
import { type CheckFinding, type DoctorCheck, ok, onTables, warning } from './check.ts'

/** How long a transaction is watched whose beginning is hidden from the user of `DATABASE_URL`. */
const WATCH_MS = 2_000

const transactions: DoctorCheck = {
  name: 'transactions',
  about: 'no transaction that has written stays open, in any database of the cluster: streams of events wait for it',
  reads: ['DATABASE_URL'],
  run: onTables(async (db) => {
    const oldest = await readOldestTransaction(db)
    if (!oldest || oldest.seconds !== null) return transactionFinding(oldest)
    await sleep(WATCH_MS)
    const isOpen = (await readOldestTransaction(db))?.id === oldest.id
    return transactionFinding(isOpen ? oldest : undefined)
  }),
}

export function transactionFinding(oldest: OpenTransaction | undefined): CheckFinding {
  if (!oldest) return ok('none is open')
  const { pid, database, user, application, seconds } = oldest
  if (seconds !== null && seconds < HELD_SECONDS) return ok(`the oldest one began ${Math.ceil(seconds)} s ago`)
  const age = seconds === null ? `more than ${WATCH_MS / 1_000} s` : `${Math.floor(seconds)} s`
  const seen = `${ownerOf(oldest)} has one open for ${age} (database ${database}, user ${user}${programOf(application)})`
  const end = pid === null ? 'Commit it, or roll it back.' : howToEnd(pid)
  return warning(
    `${seen}: streams of events wait for its end, and lose nothing`,
    `${end} Until then webhooks get new events, and streams do not.`,
  )
}

/** What the program of a session calls itself: text from outside, which PostgreSQL cuts at 63 octets. */
export const programOf = (application: string | null) => (application ? `, program ${cleanText(application)}` : '')

/** How a session is ended. */
export const howToEnd = (pid: number) => `End it: select pg_terminate_backend(${pid});`

export const TRANSACTION_CHECKS = [transactions]
