import type { DatabaseClock } from '../db/clock.ts'
import type { Database } from '../db/connect.ts'
import { and, eq, isNull } from '../db/drizzle.ts'
import type { RecordCheck } from '../db/json-columns.ts'
import { domains } from '../db/schema.ts'
import { isNameTaken } from '../directory/verified-names.ts'
import type { Findings } from './dns-verifier.ts'
import { type DkimKeyRow, type Domain, findDomainById } from './domains.ts'
import { recordsOf, type SendingHosts } from './records.ts'
import { activateNext } from './rotation.ts'
import { afterCheck, type CheckOutcome, nextAwaited, type Standing } from './verification-schedule.ts'

export interface ApplyParts {
  db: Database
  clock: DatabaseClock
  hosts: SendingHosts
}

type Checks = Record<string, RecordCheck>

/**
 * Stores the findings of a check, and what follows from them: the next key signs once its record was seen, the domain
 * has a new status, and DNS is checked again at a new time. One statement stores them, unless the domain changed since
 * it was read; then it is read again. Returns the status, or undefined for a deleted domain.
 */
export async function applyChecks(
  { db, clock, hosts }: ApplyParts,
  checkedDomain: Domain,
  findings: Findings,
): Promise<Domain['status'] | undefined> {
  const now = new Date(clock.now())
  let isTaken = false
  for (let domain: Domain | undefined = checkedDomain; domain; domain = await findDomainById(db, checkedDomain.id)) {
    const next = domain.dkimKeys.find(({ state }) => state === 'next')
    const isSeen = next !== undefined && findings[`DKIM:${next.selector}`]?.status === 'verified'
    // The key comes first: if the process dies in between, the domain is soon checked again.
    if (isSeen) await activateNext(db, domain.id, next.selector)
    const checks = merge(domain.checks ?? {}, findings, now)
    const standing = standingAfter(domain, checks, { findings, hosts, now, isTaken })
    const nextCheckAt = isSeen ? standing.nextCheckAt : soonest(standing.nextCheckAt, next, now)
    const rows = await db
      .update(domains)
      .set({ ...standing, nextCheckAt, checks })
      .where(isUnchanged(domain))
      .returning({ id: domains.id })
      .catch((error): 'taken' => {
        if (!isNameTaken(error)) throw error
        return 'taken'
      })
    if (rows === 'taken') isTaken = true
    else if (rows.length > 0) return standing.status
  }
  return undefined
}

function isUnchanged({ id, status, nextCheckAt, failingSince }: Domain) {
  return and(
    eq(domains.id, id),
    eq(domains.status, status),
    nextCheckAt ? eq(domains.nextCheckAt, nextCheckAt) : isNull(domains.nextCheckAt),
    failingSince ? eq(domains.failingSince, failingSince) : isNull(domains.failingSince),
  )
}

/** A record whose servers did not answer keeps its previous status, with the error. */
function merge(before: Checks, findings: Findings, now: Date): Checks {
  const checked_at = now.toISOString()
  const merged = Object.entries(findings).map(([name, finding]) => {
    const { status = 'pending', observed = [] } = (finding.status === 'pending' ? before[name] : finding) ?? {}
    return [name, { ...finding, status, observed, checked_at }]
  })
  return Object.fromEntries(merged)
}

interface Circumstances {
  findings: Findings
  hosts: SendingHosts
  now: Date
  /** Another account has verified the name. */
  isTaken: boolean
}

/** The standing after the check. When the name is taken, the check of each right DKIM record in `checks` says so. */
function standingAfter(domain: Domain, checks: Checks, { findings, hosts, now, isTaken }: Circumstances): Standing {
  const required = recordsOf(domain, hosts).filter((record) => record.required)
  if (isTaken) {
    for (const { record, check } of required) {
      if (record === 'DKIM' && checks[check]) checks[check] = refused(checks[check], domain)
    }
  }
  const statuses = required.map(({ check }) => {
    const status = checks[check]?.status ?? 'pending'
    // A record that was wrong, and whose servers are silent now, may be right.
    return status === 'failed' ? (findings[check]?.status ?? status) : status
  })
  return afterCheck(domain, isTaken ? 'failed' : outcomeOf(statuses), now, lastCheckOf(domain))
}

function lastCheckOf({ checks }: Domain): Date | undefined {
  const times = Object.values(checks ?? {}).map(({ checked_at }) => Date.parse(checked_at))
  return times.length > 0 ? new Date(Math.max(...times)) : undefined
}

function outcomeOf(statuses: RecordCheck['status'][]): CheckOutcome {
  if (statuses.includes('failed')) return 'failed'
  return statuses.every((status) => status === 'verified') ? 'passed' : 'unanswered'
}

function refused(check: RecordCheck, { name }: Domain): RecordCheck {
  const error = `The record is right, but another account has verified ${name}, and a name belongs to one account at a time. It has to be removed there.`
  return { ...check, status: 'pending', error }
}

/** The record of a next key is looked up as often as the records of a new domain. */
function soonest(nextCheckAt: Date | null, next: DkimKeyRow | undefined, now: Date): Date | null {
  const awaited = next && nextCheckAt && nextAwaited(next.createdAt, now)
  return awaited && nextCheckAt && awaited < nextCheckAt ? awaited : nextCheckAt
}
