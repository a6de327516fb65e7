import type { Right } from '../../caller.ts'
import type { Database, Transaction } from '../../db/connect.ts'
import type { Author } from './record-change.ts'

/** What asks for a change: the operator, or a call with its right. `record` takes an author: its right was checked. */
export type Requester = Author | (Omit<Author, 'right'> & { right: Right })

/**
 * Makes a change in a transaction, in which the requester keeps the right to it. If another transaction takes the right
 * away first, this one throws what the gate throws, and nothing is done; otherwise the other one waits for it.
 */
export function changeAs<Result>(
  db: Database | Transaction,
  requester: Requester,
  change: (tx: Transaction, author: Author) => Promise<Result>,
): Promise<Result>
/** Without a requester the service makes the change by itself. */
export function changeAs<Result>(
  db: Database | Transaction,
  requester: Requester | undefined,
  change: (tx: Transaction, author: Author | undefined) => Promise<Result>,
): Promise<Result>
export function changeAs<Result>(
  db: Database | Transaction,
  requester: Requester | undefined,
  change: (tx: Transaction, author: Author) => Promise<Result>,
): Promise<Result> {
  return db.transaction(async (tx) => change(tx, (requester && (await authorIn(tx, requester))) as Author))
}

/**
 * Checks the right of a requester and keeps it until the transaction ends. Call it before the transaction locks
 * anything but the rows that give rights: with one order of locks, no two changes wait for each other.
 */
export async function authorIn(tx: Transaction, { right, ...author }: Requester): Promise<Author> {
  await right?.check(tx)
  return author
}
