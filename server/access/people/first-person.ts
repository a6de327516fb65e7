import type { Logger } from 'pino'
import type { DatabaseClock } from '../../db/clock.ts'
import type { Database } from '../../db/connect.ts'
import { people } from '../../db/people-schema.ts'
import { accounts } from '../../db/schema.ts'
import { personEmail } from './email.ts'
import { createPerson, join } from './join.ts'
import { hashPassword } from './password.ts'

/** ADMIN_EMAIL and ADMIN_PASSWORD. */
export interface Admin {
  email: string
  password: string
}

export async function hasPeople(db: Database): Promise<boolean> {
  return (await db.$count(people)) > 0
}

/**
 * While there is no person: creates the one that the configuration names, as an owner of every account. Without one,
 * logs the command that creates a set-up link.
 */
export async function prepareFirstPerson(
  { db, clock, log }: { db: Database; clock: DatabaseClock; log: Logger },
  admin: Admin | undefined,
): Promise<void> {
  if (await hasPeople(db)) return
  if (!admin) {
    log.warn('no person can sign in to the dashboard yet: create a link with "npx verdict people set-up"')
  } else if ((await db.$count(accounts)) === 0) {
    log.warn('ADMIN_EMAIL becomes a person when there is an account: "npx verdict accounts create", then start again')
  } else if (await createOwner(db, clock, admin)) {
    log.info('created the person of ADMIN_EMAIL, an owner of every account')
  }
}

/** Returns whether the person is new: another process may have created it at the same moment. */
async function createOwner(db: Database, clock: DatabaseClock, { email: given, password }: Admin): Promise<boolean> {
  const email = personEmail(given)
  if (email === undefined) throw new Error('ADMIN_EMAIL is not an address that a person can sign in with')
  const passwordHash = await hashPassword(password)
  return db.transaction(async (tx) => {
    const name = email.slice(0, email.indexOf('@'))
    const personId = await createPerson(tx, clock, { name, email, passwordHash })
    if (personId) await join(tx, { personId, email, accountId: null, role: 'owner' })
    return personId !== undefined
  })
}
