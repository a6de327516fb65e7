import { and, eq, ne } from 'drizzle-orm'
import type { DatabaseClock } from '../db/clock.ts'
import type { Database } from '../db/connect.ts'
import { dkimKeys, domains } from '../db/schema.ts'
import type { Check, DkimKey, Domain } from './domains.ts'
import { recordsOf, type SendingHosts } from './records.ts'
import { activateNext } from './rotation.ts'
import { afterCheck, nextAwaited, type Outcome } from './verification-schedule.ts'
import type { Findings } from './verify.ts'

export interface ApplyParts {
  db: Database
  clock: DatabaseClock
  hosts: SendingHosts
}

type Checks = Record<string, Check>
type Transaction = Parameters<Parameters<Database['transaction']>[0]>[0]

/**
 * Writes down what a check found, and what follows from it: the status of the domain, when DNS is asked again, and that mail is
 * signed with the next key whose record was seen. In one transaction; a domain that is gone is left so. Gives the status.
 */
export async function applyChecks(
  parts: ApplyParts,
  domainId: string,
  findings: Findings,
): Promise<Domain['status'] | undefined> {
  try {
    return await parts.db.transaction((tx) => apply(tx, parts, domainId, findings))
  } catch (error) {
    if (!wasTaken(error)) throw error
    // Another account had the name verified at this very moment; now that can be seen.
    return await parts.db.transaction((tx) => apply(tx, parts, domainId, findings))
  }
}

async function apply(tx: Transaction, { clock, hosts }: ApplyParts, domainId: string, findings: Findings) {
  // The lock keeps other checks of the domain, and a rotation of its key, out until the end.
  const [row] = await tx.select().from(domains).where(eq(domains.id, domainId)).for('update')
  if (!row) return undefined
  const keys = await tx.select().from(dkimKeys).where(eq(dkimKeys.domainId, domainId)).orderBy(dkimKeys.id)
  const domain: Domain = { ...row, checks: row.checks as Domain['checks'], dkimKeys: keys }
  const now = new Date(clock.now())
  const checks = merge(domain.checks ?? {}, findings, now)

  const required = recordsOf(domain, hosts).filter((record) => record.required)
  let outcome = outcomeOf(required.map(({ check }) => checks[check]?.status ?? 'pending'))
  if (outcome === 'passed' && domain.status !== 'verified' && (await isTaken(tx, domain))) {
    for (const { record, check } of required) if (record === 'DKIM') checks[check] = refused(checks[check]!, domain)
    outcome = 'failed'
  }
  const { status, verifiedAt, failingSince, nextCheckAt } = afterCheck(domain, outcome, now)
  const next = await activateSeen(tx, domain, findings)
  const change = {
    status,
    verifiedAt,
    failingSince,
    nextCheckAt: soonest(nextCheckAt, next, now),
    checks,
  }
  await tx.update(domains).set(change).where(eq(domains.id, domainId))
  return status
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

function outcomeOf(statuses: Check['status'][]): Outcome {
  if (statuses.includes('failed')) return 'failed'
  return statuses.every((status) => status === 'verified') ? 'passed' : 'unanswered'
}

async function isTaken(tx: Transaction, { id, name }: Domain): Promise<boolean> {
  const taken = and(eq(domains.name, name), eq(domains.status, 'verified'), ne(domains.id, id))
  return (await tx.select({ id: domains.id }).from(domains).where(taken)).length > 0
}

function refused(check: Check, { name }: Domain): Check {
  const error = `The record is right, but another account has verified ${name}, and a name belongs to one account at a time. It has to be removed there.`
  return { ...check, status: 'pending', error }
}

/** Signs with the next key when its record was seen. Gives the next key that is still awaited. */
async function activateSeen(tx: Transaction, domain: Domain, findings: Findings): Promise<DkimKey | undefined> {
  const next = domain.dkimKeys.find(({ state }) => state === 'next')
  if (!next || findings[`DKIM:${next.selector}`]?.status !== 'verified') return next
  await activateNext(tx, domain.id, next.selector)
  return undefined
}

/** A next key that is awaited is asked for as often as a new domain is. */
function soonest(nextCheckAt: Date | null, next: DkimKey | undefined, now: Date): Date | null {
  const awaited = next && nextCheckAt && nextAwaited(next.createdAt, now)
  return awaited && nextCheckAt && awaited < nextCheckAt ? awaited : nextCheckAt
}

/** SQLSTATE 23505, unique_violation, as Drizzle wraps it. */
function wasTaken(error: unknown): boolean {
  const { cause } = error as { cause?: { constraint_name?: string } }
  return cause?.constraint_name === 'domains_verified_name'
}
