import type { Sealer } from '../../db/encryption.ts'

/** The keys of cookies: the first signs, all verify. better-auth takes its secret as a text. */
export function signingKeys(sealer: Sealer): string[] {
  return sealer.deriveKeys('people').map((key) => key.toString('base64url'))
}

/**
 * The keys of better-auth: the first encrypts, all decrypt. It marks what it encrypts with the version of the key, so
 * that a replaced key still decrypts.
 */
export function versionedKeys(sealer: Sealer): { version: number; value: string }[] {
  const versions = sealer.deriveKeys('version of the key of people')
  return signingKeys(sealer).map((value, i) => ({ version: versions[i]!.readUInt32BE(), value }))
}
