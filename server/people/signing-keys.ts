import type { Sealer } from '../db/encryption.ts'

/** The keys of cookies: the first signs, all verify. better-auth takes its secret as a text. */
export function signingKeys(sealer: Sealer): string[] {
  return sealer.deriveKeys('people').map((key) => key.toString('base64url'))
}
