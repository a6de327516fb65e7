import { matchingFormOf } from '../address.ts'

/** The addresses that better-auth accepts at a sign-in, in their matching form. */
const SIGN_IN = /^(?!\.)(?!.*\.\.)[a-z0-9_'+.-]*[a-z0-9_+-]@([a-z0-9][a-z0-9-]*\.)+[a-z]{2,}$/

/** The address of a person in lower case; undefined for a text that a person cannot sign in with. */
export function personEmail(text: string): string | undefined {
  const email = matchingFormOf(text.trim())
  return email && SIGN_IN.test(email) ? email : undefined
}
