import type { Database } from '../../db/connect.ts'
import { and, eq } from '../../db/drizzle.ts'
import { credentials } from '../../db/people-schema.ts'
import { hashPassword, isPassword, PASSWORD } from './password.ts'

/** How better-auth names the credential that is a password. */
export const PASSWORD_PROVIDER = 'credential'

/** No person has this id. */
const NO_PERSON = '00000000-0000-0000-0000-000000000000'

/** Reads the hash of a person's password. Asks the database without a person, too: both take as long. */
export async function passwordHashOf(
  db: Pick<Database, 'select'>,
  personId: string = NO_PERSON,
): Promise<string | undefined> {
  const [row] = await db
    .select({ hash: credentials.password })
    .from(credentials)
    .where(and(eq(credentials.userId, personId), eq(credentials.providerId, PASSWORD_PROVIDER)))
  return row?.hash ?? undefined
}

/** Whether this is the password of the person. Takes as long without a person. */
export async function isPasswordOf(
  db: Pick<Database, 'select'>,
  personId: string | undefined,
  password: string,
  remoteAddress?: string,
): Promise<boolean> {
  if (password.length > PASSWORD.max) return false
  const hash = await passwordHashOf(db, personId)
  if (hash !== undefined) return isPassword(password, hash, remoteAddress)
  await hashPassword(password, remoteAddress)
  return false
}
