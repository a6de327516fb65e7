import { FairTurns } from '../../net/fair-turns.ts'
import type { Caller, KeyGate, Visitor } from '../caller.ts'
import type { OperatorLimits } from '../config/limits.ts'
import type { DatabaseClock } from '../db/clock.ts'
import type { Database } from '../db/connect.ts'
import { fail } from '../errors.ts'
import { createIdentify, type StoredKey } from './identify.ts'
import { createLastUses } from './last-use.ts'
import { createKeyRight } from './right-of-key.ts'
import { mayCall, SCOPES_OF, scopeOf } from './scopes.ts'
import { createTierCount } from './tier-count.ts'

interface KeyGateParts {
  db: Database
  clock: DatabaseClock
  limits: OperatorLimits
  /** Shared with another door of this process, so that both count the same strangers. */
  identify?: (visitor: Visitor) => Promise<StoredKey | undefined>
  /** The work on a call begins in turn with that of other accounts. */
  turns?: FairTurns
  /** Called with each request that was counted against its account's limit. */
  onCount?(admitted: boolean): void
}

/**
 * The gate before every call: identifies the caller, checks the key's scope and counts the request. Returns undefined
 * for a caller without a key where none is needed. Throws `invalid_api_key`, `insufficient_scope` and
 * `rate_limit_exceeded`, and `transient_failure` when the database cannot look up a key or count its request. For a key
 * in use the count is the only query.
 */
export function createKeyGate({ db, clock, limits, onCount, ...parts }: KeyGateParts): KeyGate {
  const { turns = new FairTurns() } = parts
  const { identify = createIdentify({ db, clock, turns }) } = parts
  const count = createTierCount({ db, limits, onCount })
  const noteUse = createLastUses(db)

  return async (call) => {
    const key = await identify(call)
    if (!key) return undefined
    await turns.take(key.caller.accountId)
    const { method, isCounted, tellRate } = call
    call.tellCaller?.(key.caller)
    if (!isCounted) await count({ accountId: key.caller.accountId, tier: key.tier, tellRate })
    if (method && !mayCall(key.scopes, method)) throw missingScope(scopeOf(method), key.caller)
    noteUse(key, clock.now())
    call.giveRight?.(createKeyRight(db, clock, key.caller.keyId))
    return key.caller
  }
}

function missingScope(scope: string, { test }: Caller) {
  const why =
    test && !SCOPES_OF.test.includes(scope)
      ? 'Test keys cannot have it: they change nothing that live mail depends on. Use a live key that has it.'
      : 'Use a key that has it.'
  return fail('insufficient_scope', `This API key lacks the scope "${scope}". ${why}`)
}
