import { countSecondFactors, reencryptSecondFactors } from '../access/people/second-factors.ts'
import type { Database } from '../db/connect.ts'
import { createSealer, type EncryptionKey } from '../db/encryption.ts'
import { countSealed, reseal } from '../db/reseal.ts'

// Everything that ENCRYPTION_KEYS protects: the secrets of the service, and the second factors of people.

/** Counts all stored secrets, and those that need another key than the first. */
export async function countSecrets(db: Database, encryptionKeys: readonly EncryptionKey[]) {
  const sealed = await countSealed(db, encryptionKeys)
  const factors = await countSecondFactors(db, createSealer(encryptionKeys))
  return { total: sealed.total + factors.total, older: sealed.older + factors.older }
}

/** Seals with the first key what other keys have sealed, while the service runs: see `reseal`. */
export async function sealAnew(
  db: Database,
  encryptionKeys: readonly EncryptionKey[],
  progress: (resealed: number) => void,
): Promise<{ resealed: number; faults: string[] }> {
  const { resealed, faults } = await reseal(db, encryptionKeys, progress)
  const factors = await reencryptSecondFactors(db, createSealer(encryptionKeys))
  return { resealed: resealed + factors.reencrypted, faults: [...faults, ...factors.faults] }
}
