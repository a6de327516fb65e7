import { Access } from '../../../gen/verdict/admin/v1/options_pb.ts'
import { FairTurns } from '../../../net/fair-turns.ts'
import { networkOf } from '../../../net/network.ts'
import type { SessionCall, SessionGate } from '../../caller.ts'
import type { OperatorLimits } from '../../config/limits.ts'
import type { DatabaseClock } from '../../db/clock.ts'
import type { Database, Transaction } from '../../db/connect.ts'
import { parsePublicId } from '../../db/ids.ts'
import { fail } from '../../errors.ts'
import { usedUp } from '../limiter.ts'
import { createStrangers } from '../strangers.ts'
import { createTierCount } from '../tier-count.ts'
import { createWindows, rateOf, type Visit } from '../windows.ts'
import { type AccessRule, includes, type Role, requiredRole, ruleOf } from './access.ts'
import type { SessionCookie } from './cookie.ts'
import {
  confirmationRequired,
  extendSession,
  findSession,
  type LiveSession,
  lockSession,
  noSession,
} from './sessions.ts'

interface SessionGateParts {
  db: Database
  clock: DatabaseClock
  cookie(): SessionCookie
  /** The limits of tiers. */
  limits: OperatorLimits
  /** Callers whose session is not known yet share the turns of one account. */
  turns?: FairTurns
  /** Called with each call that was counted against its account's limit. */
  onCount?(admitted: boolean): void
}

/** Far more than the pages of a busy person need: several tabs may refresh each second. */
const CALLS_PER_SESSION = { limit: 3_000, windowMs: 60_000 }

/** An account keeps an entry of most changes for years, and a person may have any number of sessions. */
const CHANGES_PER_PERSON = { limit: 600, windowMs: 60_000 }

/**
 * The gate before calls with a session: identifies the person, checks the role in the account of the call, and counts
 * the call for the session, and a change for the person. A send also counts for the account's tier, as one with a key
 * does. Returns undefined for a method that is open to everybody. Throws `invalid_session`, `not_found` for an account
 * that the person does not belong to, `insufficient_role`, `confirmation_required` and `rate_limit_exceeded`.
 */
export function createSessionGate(parts: SessionGateParts): SessionGate {
  const { db, clock, cookie, turns = new FairTurns() } = parts
  const stranger = createStrangers()
  const openCall = createStrangers()
  const countSession = createWindows(CALLS_PER_SESSION)
  const countChange = createWindows(CHANGES_PER_PERSON)
  const countForTier = createTierCount(parts)

  return async (call) => {
    await turns.takeAsStranger(networkOf(call.remoteAddress))
    const rule = ruleOf(call.method)
    if (rule.access === Access.OPEN) {
      countVisit(clock, openCall(call.remoteAddress), 'this address', call)
      return undefined
    }
    const token = cookie().read(call.cookie)
    if (token === undefined) {
      countVisit(clock, stranger(call.remoteAddress), 'this address without a session', call)
      throw noSession()
    }
    countVisit(clock, countSession(token), 'this session', call)
    const needed = requiredRole(rule)
    const accountId = needed && parsePublicId('acc', call.account ?? '')
    const find = async (from: Database | Transaction) => {
      const session = await findSession(from, clock, token, accountId)
      if (!session) throw noSession()
      if (needed) refuseStranger(session, call.account)
      return session
    }
    const refuse = (session: LiveSession) => {
      if (needed) refuseRole(session, needed)
      refuseUnconfirmed(rule, session, clock.now())
    }
    const session = await find(db)
    if (await extendSession(db, clock, session)) call.setCookie(cookie().renewal(token))
    if (accountId !== undefined && rule.counted)
      await countForTier({ accountId, tier: session.tier, tellRate: call.tellRate })
    refuse(session)
    const change = rule.access === Access.READER ? undefined : countChange(session.personId)
    if (change?.over) countVisit(clock, change, 'this person that change something', call)
    call.giveRight?.({
      trustedMs: 0,
      async check(tx) {
        if (tx) await lockSession(tx, session, accountId)
        refuse(await find(tx ?? db))
      },
    })
    const { personId, sessionId, email, role } = session
    return { accountId: accountId ?? '', test: false, person: { personId, sessionId, email, role } }
  }
}

function countVisit(clock: DatabaseClock, visit: Visit, what: string, { tellRate }: SessionCall): void {
  const { over, limit, leftMs } = visit
  tellRate(rateOf(visit, clock))
  if (over) throw usedUp(`The ${limit} calls per minute of ${what} are used up.`, Math.ceil(leftMs / 1_000))
}

/** Refuses a person who does not belong to the account of the call, as if it did not exist. */
function refuseStranger({ role }: LiveSession, account: string | undefined): void {
  if (account === undefined)
    throw fail('invalid_payload', 'The header Verdict-Account is missing. It names the account.')
  if (role === undefined) throw fail('not_found', 'There is no such account, or you do not belong to it.')
}

function refuseRole({ role }: LiveSession, needed: Role): void {
  if (role !== undefined && includes(role, needed)) return
  throw fail('insufficient_role', `This needs the role ${needed}, and you are a ${role} of this account.`)
}

function refuseUnconfirmed({ confirmed }: AccessRule, { confirmedUntilMs }: LiveSession, nowMs: number): void {
  if (!confirmed || confirmedUntilMs > nowMs) return
  throw confirmationRequired()
}
