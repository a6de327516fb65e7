import type { DatabaseClock } from '../db/clock.ts'
import type { Database } from '../db/connect.ts'
import { and, eq, isNull } from '../db/drizzle.ts'
import type { RecordCheck } from '../db/json-columns.ts'
import { domains } from '../db/schema.ts'
import { type DkimKey, type Domain, findDomainById } from './domains.ts'
import { recordsOf, type SendingHosts } from './records.ts'
import { activateNext } from './rotation.ts'
import { afterCheck, nextAwaited, type Outcome, type Standing } from './verification-schedule.ts'
import type { Findings } from './verify.ts'

export interface ApplyParts {
  db: Database
  clock: DatabaseClock
  hosts: SendingHosts
}

type Checks = Record<string, RecordCheck>

/**
 * Writes down what a check of a domain found, and what follows from it: mail is signed with the next key whose record was seen, the
 * status of the domain, when DNS is asked again. One statement, on the condition that the domain stands where it stood when it was
 * read; otherwise it is read again. Gives the status, nothing of a domain that is gone.
 */
export async function applyChecks(
  { db, clock, hosts }: ApplyParts,
  read: Domain,
  findings: Findings,
): Promise<Domain['status'] | undefined> {
  const now = new Date(clock.now())
  let isTaken = false
  for (let domain: Domain | undefined = read; domain; domain = await findDomainById(db, read.id)) {
    const next = domain.dkimKeys.find(({ state }) => state === 'next')
    const isSeen = next !== undefined && findings[`DKIM:${next.selector}`]?.status === 'verified'
    // Before the rest: should the process die in between, the domain is soon checked again.
    if (isSeen) await activateNext(db, domain.id, next.selector)
    const checks = merge(domain.checks ?? {}, findings, now)
    const standing = standingAfter(domain, checks, { hosts, now, isTaken })
    const nextCheckAt = isSeen ? standing.nextCheckAt : soonest(standing.nextCheckAt, next, now)
    const written = await db
      .update(domains)
      .set({ ...standing, nextCheckAt, checks })
      .where(standsAs(domain))
      .returning({ id: domains.id })
      .catch(rethrowUnlessTaken)
    if (written === 'taken') isTaken = true
    else if (written.length > 0) return standing.status
  }
  return undefined
}

function standsAs({ id, status, nextCheckAt, failingSince }: Domain) {
  return and(
    eq(domains.id, id),
    eq(domains.status, status),
    nextCheckAt ? eq(domains.nextCheckAt, nextCheckAt) : isNull(domains.nextCheckAt),
    failingSince ? eq(domains.failingSince, failingSince) : isNull(domains.failingSince),
  )
}

/** What nobody answered for stays what it was, with the word of it. */
function merge(before: Checks, findings: Findings, now: Date): Checks {
  const checked_at = now.toISOString()
  const merged = Object.entries(findings).map(([name, finding]) => {
    const { status = 'pending', observed = [] } = (finding.status === 'pending' ? before[name] : finding) ?? {}
    return [name, { ...finding, status, observed, checked_at }]
  })
  return Object.fromEntries(merged)
}

interface Circumstances {
  hosts: SendingHosts
  now: Date
  /** Another account has the name verified. */
  isTaken: boolean
}

/** Changes `checks` where the name is taken: that is said to who owns the right records. */
function standingAfter(domain: Domain, checks: Checks, { hosts, now, isTaken }: Circumstances): Standing {
  const required = recordsOf(domain, hosts).filter((record) => record.required)
  if (isTaken) {
    for (const { record, check } of required) {
      if (record === 'DKIM' && checks[check]) checks[check] = refused(checks[check], domain)
    }
  }
  const statuses = required.map(({ check }) => checks[check]?.status ?? 'pending')
  return afterCheck(domain, isTaken ? 'failed' : outcomeOf(statuses), now)
}

function outcomeOf(statuses: RecordCheck['status'][]): Outcome {
  if (statuses.includes('failed')) return 'failed'
  return statuses.every((status) => status === 'verified') ? 'passed' : 'unanswered'
}

function refused(check: RecordCheck, { name }: Domain): RecordCheck {
  const error = `The record is right, but another account has verified ${name}, and a name belongs to one account at a time. It has to be removed there.`
  return { ...check, status: 'pending', error }
}

/** A next key that is awaited is asked for as often as a new domain is. */
function soonest(nextCheckAt: Date | null, next: DkimKey | undefined, now: Date): Date | null {
  const awaited = next && nextCheckAt && nextAwaited(next.createdAt, now)
  return awaited && nextCheckAt && awaited < nextCheckAt ? awaited : nextCheckAt
}

/** The index that holds a verified name for one account says no. */
function rethrowUnlessTaken(error: { cause?: { constraint_name?: string } }): 'taken' {
  if (error.cause?.constraint_name !== 'domains_verified_name') throw error
  return 'taken'
}
