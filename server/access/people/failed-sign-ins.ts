import type { Logger } from 'pino'
import type { Database } from '../../db/connect.ts'
import { eq } from '../../db/drizzle.ts'
import { people } from '../../db/people-schema.ts'
import { recordForPerson } from '../audit/record-for-person.ts'
import { createWindows } from '../windows.ts'
import { personEmail } from './email.ts'

/** Counted for each person. A window has one entry, so that strangers cannot fill the log. */
const RECORDED = { limit: 10, windowMs: 15 * 60_000 }

export interface FailedSignIn {
  /** Whom the caller wanted to sign in as: the address, or the person once the password was right. */
  as: { email: string } | { personId: string }
  remoteAddress: string | undefined
}

export type NoteFailedSignIn = (failure: FailedSignIn) => void

/**
 * Records in the audit log that signing in as a person has failed ten times. Each process counts for itself. The caller
 * does not wait for it: the time of a response must not say whether the address has a sign-in.
 */
export function createFailedSignIns({ db, log }: { db: Database; log: Logger }): NoteFailedSignIn {
  const failuresOf = createWindows(RECORDED)

  async function note({ as, remoteAddress }: FailedSignIn): Promise<void> {
    const isIt = 'email' in as ? eq(people.email, personEmail(as.email) ?? '') : eq(people.id, as.personId)
    const [person] = await db.select({ personId: people.id, email: people.email }).from(people).where(isIt)
    if (!person) return
    const { over, remaining, limit } = failuresOf(person.personId)
    if (over || remaining > 0) return
    const actor = { kind: 'stranger' } as const
    const entry = { action: 'person.fail_sign_in', after: { failures: limit }, actor, remoteAddress } as const
    await recordForPerson(db, { ...person, ...entry })
  }

  return (failure) => {
    note(failure).catch((error) => log.warn({ err: error }, 'failed sign-ins could not be recorded'))
  }
}
