import { matchingFormOf } from '../../../mail/address.ts'
import { failFields } from '../../errors.ts'

/** The addresses that better-auth accepts at a sign-in, in their matching form. */
const SIGN_IN = /^(?!\.)(?!.*\.\.)[a-z0-9_'+.-]*[a-z0-9_+-]@([a-z0-9][a-z0-9-]*\.)+[a-z]{2,}$/

/** The address of a person in lower case; undefined for a text that a person cannot sign in with. */
export function personEmail(text: string): string | undefined {
  const email = matchingFormOf(text.trim())
  return email && SIGN_IN.test(email) ? email : undefined
}

/** Reads the field `email` of a request. Throws `invalid_address`. */
export function readPersonEmail(text: string): string {
  const email = personEmail(text)
  if (email !== undefined) return email
  const message = 'is not an email address. Expected something like ann@example.com'
  throw failFields('invalid_address', [{ field: 'email', message }])
}
