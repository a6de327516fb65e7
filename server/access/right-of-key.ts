import type { Right } from '../caller.ts'
import type { DatabaseClock } from '../db/clock.ts'
import type { Database } from '../db/connect.ts'
import { and, eq, gt, isNull, or } from '../db/drizzle.ts'
import { stepInTime } from '../db/outage.ts'
import { apiKeys } from '../db/schema.ts'
import { fail } from '../errors.ts'

/** Bodies of most sends arrive sooner: they pay for no second query. */
const TRUSTED_MS = 1_000

/** The right of a valid key, which a revocation or its expiry ends. The gate's cache is not asked. */
export function createKeyRight(db: Database, clock: DatabaseClock, keyId: string): Right {
  return {
    trustedMs: TRUSTED_MS,
    async check(tx) {
      const { revokedAt, expiresAt } = apiKeys
      const isValid = and(isNull(revokedAt), or(isNull(expiresAt), gt(expiresAt, new Date(clock.now()))))
      const query = (tx ?? db)
        .select({ id: apiKeys.id })
        .from(apiKeys)
        .where(and(eq(apiKeys.id, keyId), isValid))
      const found = await stepInTime(db, tx ? query.for('share') : query).catch((cause) => {
        throw notChecked(cause)
      })
      if (found.length === 0) throw unknownKey()
    },
  }
}

export const notChecked = (cause: unknown) =>
  fail('transient_failure', 'The API key could not be checked. It is safe to retry.', { cause })

export const unknownKey = () => fail('invalid_api_key', 'This API key does not exist, was revoked or has expired.')
