import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto'
import { fail } from '../../errors.ts'
import { createHashingSlots } from './hashing-slots.ts'

/** Characters of a password. */
export const PASSWORD = { min: 12, max: 128 }

// As better-auth does by default: scrypt with N = 2^14, r = 16, p = 1, of which one takes 32 MB and about 60 ms.
const COST = { N: 2 ** 14, r: 16, p: 1, maxmem: 64 * 2 ** 20 }
const HASH_BYTES = 64
const SALT_BYTES = 16

/** A flood of sign-ins takes two of the threads that also read files and look up names, and 64 MB. */
const slots = createHashingSlots({ slots: 2, maxWaiting: 50, waitMs: 10_000 })
const RETRY_SECONDS = 5

/**
 * Hashes a password: its salt and scrypt, in hexadecimal. Throws `transient_failure` when too many wait.
 * `remoteAddress` is the caller's; absent for the operator.
 */
export async function hashPassword(password: string, remoteAddress?: string): Promise<string> {
  const salt = randomBytes(SALT_BYTES).toString('hex')
  return `${salt}:${(await derive(password, salt, remoteAddress)).toString('hex')}`
}

/** Whether the password has the hash. Throws as `hashPassword`, and then nothing was compared. */
export async function isPassword(password: string, hash: string, remoteAddress?: string): Promise<boolean> {
  const [salt = '', stored = ''] = hash.split(':')
  const expected = Buffer.from(stored, 'hex')
  const derived = await derive(password, salt, remoteAddress)
  return expected.length === derived.length && timingSafeEqual(derived, expected)
}

/** Different ways to type the same characters are the same password (NIST SP 800-63B 3.1.1.2). */
async function derive(password: string, salt: string, remoteAddress = ''): Promise<Buffer> {
  const release = await slots.acquire(remoteAddress)
  if (!release) throw busy()
  try {
    return await new Promise((resolve, reject) => {
      scrypt(password.normalize('NFKC'), salt, HASH_BYTES, COST, (error, key) => (error ? reject(error) : resolve(key)))
    })
  } finally {
    release()
  }
}

const busy = () =>
  fail('transient_failure', `Too many people sign in at this moment. Wait ${RETRY_SECONDS} seconds.`, {
    retryAfterSeconds: RETRY_SECONDS,
  })
