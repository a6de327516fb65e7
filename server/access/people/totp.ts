import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Database } from '../../db/connect.ts'
import { and, eq, isNull, lt, or } from '../../db/drizzle.ts'
import { secondFactors } from '../../db/people-schema.ts'

const STEP_MS = 30_000
const DIGITS = 6

interface Code {
  personId: string
  code: string
  nowMs: number
  /** Decrypts the secret of a second factor. */
  decrypt(sealed: string): Promise<string>
}

/**
 * Spends a code of an authenticator app (RFC 6238 5.2). Returns whether it is currently valid and was not used before,
 * in any process. A later code spends the earlier ones, too.
 */
export async function spendCode(db: Database, { personId, code, nowMs, decrypt }: Code): Promise<boolean> {
  const [factor] = await db.select().from(secondFactors).where(eq(secondFactors.userId, personId))
  if (!factor) return false
  const step = stepOf(code, await decrypt(factor.secret), nowMs)
  if (step === undefined) return false
  const isLater = or(isNull(secondFactors.lastStep), lt(secondFactors.lastStep, step))
  const used = await db
    .update(secondFactors)
    .set({ lastStep: step })
    .where(and(eq(secondFactors.id, factor.id), isLater))
    .returning({ id: secondFactors.id })
  return used.length > 0
}

/** The time step of a code. Clocks may differ, so the steps before and after the current one count. */
function stepOf(code: string, secret: string, nowMs: number): number | undefined {
  const current = Math.floor(nowMs / STEP_MS)
  return [current + 1, current, current - 1].find((step) => isSame(code, codeAt(step, secret)))
}

/** HOTP (RFC 4226 5.3). */
function codeAt(step: number, secret: string): string {
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(step))
  const hash = createHmac('sha1', secret).update(counter).digest()
  const number = hash.readUInt32BE(hash.readUInt8(hash.length - 1) & 15) & 0x7fffffff
  return String(number % 10 ** DIGITS).padStart(DIGITS, '0')
}

function isSame(given: string, expected: string): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(expected)]
  return one.length === other.length && timingSafeEqual(one, other)
}
