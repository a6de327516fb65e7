import type { Database } from '../../server/db/connect.ts'

/** The database with each statement in the hands of `around`, which may count it, or lose its result. */
export function aroundStatements(
  db: Database,
  around: (statement: string, run: () => Promise<unknown>) => Promise<unknown>,
): Database {
  const { $client } = db
  const unsafe = (...[statement, ...more]: Parameters<typeof $client.unsafe>) =>
    around(statement, async () => $client.unsafe(statement, ...more))
  return Object.assign(Object.create(db), { $client: { unsafe }, warm: { take: () => undefined } })
}
