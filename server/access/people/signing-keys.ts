import type { Sealer } from '../../db/encryption.ts'

/** The keys of cookies: the first signs, all verify. better-auth takes its secret as a text. */
export function signingKeys(sealer: Sealer): [string, ...string[]] {
  const [first, ...others] = sealer.deriveKeys('people')
  return [first.toString('base64url'), ...others.map((key) => key.toString('base64url'))]
}

/**
 * The keys of better-auth: the first encrypts, all decrypt. It marks what it encrypts with the version of the key, so
 * that a replaced key still decrypts.
 */
export function versionedKeys(sealer: Sealer): { version: number; value: string }[] {
  const versions = sealer.deriveKeys(VERSION)
  return signingKeys(sealer).map((value, i) => ({ version: versions[i]!.readUInt32BE(), value }))
}

export const currentVersion = (sealer: Sealer): number => sealer.deriveKeys(VERSION)[0].readUInt32BE()

const VERSION = 'version of the key of people'
