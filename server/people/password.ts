import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto'
import { fail } from '../errors.ts'
import { createSlots } from '../slots.ts'

/** Characters of a password. */
export const PASSWORD = { min: 12, max: 128 }

// As better-auth does by default: scrypt with N = 2^14, r = 16, p = 1, of which one takes 32 MB and about 60 ms.
const COST = { N: 2 ** 14, r: 16, p: 1, maxmem: 64 * 2 ** 20 }
const HASH_BYTES = 64
const SALT_BYTES = 16

/** A flood of sign-ins takes two of the threads that also read files and look up names, and 64 MB. */
const slots = createSlots({ slots: 2, maxWaiting: 50 })
const WAIT_MS = 5_000

/** Hashes a password: its salt and scrypt, in hexadecimal. Throws `transient_failure` when too many wait. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(SALT_BYTES).toString('hex')
  return `${salt}:${(await derive(password, salt)).toString('hex')}`
}

export async function isPassword(password: string, hash: string): Promise<boolean> {
  const [salt = '', stored = ''] = hash.split(':')
  const expected = Buffer.from(stored, 'hex')
  const derived = await derive(password, salt)
  return expected.length === derived.length && timingSafeEqual(derived, expected)
}

/** Different ways to type the same characters are the same password (NIST SP 800-63B 3.1.1.2). */
async function derive(password: string, salt: string): Promise<Buffer> {
  const release = await slots.acquire({ untilMs: performance.now() + WAIT_MS })
  if (!release) throw fail('transient_failure', 'Too many people sign in at this moment. Try again in a few seconds.')
  try {
    return await new Promise((resolve, reject) => {
      scrypt(password.normalize('NFKC'), salt, HASH_BYTES, COST, (error, key) => (error ? reject(error) : resolve(key)))
    })
  } finally {
    release()
  }
}
