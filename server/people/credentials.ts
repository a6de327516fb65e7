import type { Database } from '../db/connect.ts'
import { and, eq } from '../db/drizzle.ts'
import { credentials } from '../db/people-schema.ts'
import { hashPassword, isPassword, PASSWORD } from './password.ts'

/** How better-auth names the credential that is a password. */
export const PASSWORD_PROVIDER = 'credential'

/** Whether this is the password of the person. Takes as long for a person without one. */
export async function isPasswordOf(
  db: Pick<Database, 'select'>,
  personId: string | undefined,
  password: string,
  remoteAddress?: string,
): Promise<boolean> {
  if (password.length > PASSWORD.max) return false
  const [row] = personId
    ? await db
        .select({ hash: credentials.password })
        .from(credentials)
        .where(and(eq(credentials.userId, personId), eq(credentials.providerId, PASSWORD_PROVIDER)))
    : []
  if (row?.hash) return isPassword(password, row.hash, remoteAddress)
  await hashPassword(password, remoteAddress)
  return false
}
