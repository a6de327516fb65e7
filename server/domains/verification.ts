import { setTimeout as sleep } from 'node:timers/promises'
import { FairSlots } from '../../net/fair-slots.ts'
import { createKeyedAmounts } from '../../net/keyed-amounts.ts'
import type { Database } from '../db/connect.ts'
import { one, run, uuidArray } from '../db/statement.ts'
import { fail } from '../errors.ts'
import { type ApplyParts, applyChecks } from './apply-checks.ts'
import type { Verifier } from './dns-verifier.ts'
import { beginCheck, type Domain, findDomainById } from './domains.ts'

/** The API calls `verifyNow` when an account owner asks for it; a workflow calls `verifyDue` when one is due. */
export interface DomainVerification {
  /**
   * Checks the DNS of a domain and stores the result. When another check of the domain began within the last 5 s, waits
   * for its result instead, whichever process makes it. Throws `rate_limit_exceeded` when MAX_WAITING calls of
   * the account wait.
   */
  verifyNow(domainId: string, accountId: string): Promise<void>
  /**
   * Checks the domains whose check is due, the longest overdue first. Ends when none is left, after RUN_MS, or when
   * `signal` aborts. Returns how many domains were checked, by their new status.
   */
  verifyDue(options: VerifyDueOptions): Promise<CheckCounts>
}

export interface VerifyDueOptions {
  signal: AbortSignal
  /** Called for each domain whose status changed, with the domain before the check and its new status. */
  onChange(domain: Domain, status: Domain['status']): void
  /** Called when a fault of the service ended the check of a domain. The check is repeated a minute later. */
  onError(error: unknown): void
}

export type CheckCounts = Partial<Record<Domain['status'], number>>

// `verifyNow`, per process.
const SLOTS = 4
const MAX_WAITING = 40
const RETRY_SECONDS = 2
const BUSY = `${SLOTS + MAX_WAITING} domains of this account are being checked. Wait ${RETRY_SECONDS} s.`
/** How often the result of another process's check is looked for. */
const LOOK_MS = 200
/** The largest allowed difference of the clocks by which a check began and ended. Two checks begin 5 s apart. */
const CLOCKS_DIFFER_MS = 500

// `verifyDue`: an account gets at most as many slots as it leaves free, so its many or silent domains do not delay
// those of others.
const DUE_SLOTS = 10
/** A run ends before the next one begins, a minute after it. */
const RUN_MS = 50_000
/** The time between the starts of two checks: all at once, they would delay sends. */
const START_INTERVAL_MS = 100
/** A check whose process died is repeated after this time. */
const LEASE = "interval '1 minute'"

interface DueDomain {
  id: string
  accountId: string
}

// `skip locked`: concurrent runs take different domains.
const CLAIM = `
  update domains set next_check_at = now() + ${LEASE}, checked_at = now()
  where id = (
    select id from domains where next_check_at <= now() and account_id <> all($1::uuid[])
    order by next_check_at limit 1 for update skip locked
  )
  returning id, account_id as "accountId"`

const IS_DUE = 'select exists (select from domains where next_check_at <= now()) as due'

type VerificationParts = ApplyParts & { verifier: Verifier }

/** Whether the check of any domain is due. */
export const isCheckDue = async (db: Database): Promise<boolean> => one(await run<{ due: boolean }>(db, IS_DUE)).due

export function createDomainVerification(parts: VerificationParts): DomainVerification {
  const inFlight = new Map<string, Promise<void>>()
  const slots = new FairSlots({ slots: SLOTS, perAccount: SLOTS - 1 })
  const asked = createKeyedAmounts()

  async function verifyWithSlot(domainId: string, accountId: string): Promise<void> {
    if (asked.of(accountId) >= SLOTS + MAX_WAITING)
      throw fail('rate_limit_exceeded', BUSY, { retryAfterSeconds: RETRY_SECONDS })
    asked.add(accountId, 1)
    const release = await slots.acquire({ accountId })
    try {
      await verifyOnce(parts, domainId)
    } finally {
      release?.()
      asked.add(accountId, -1)
    }
  }

  return {
    verifyNow(domainId, accountId) {
      const check =
        inFlight.get(domainId) ?? verifyWithSlot(domainId, accountId).finally(() => inFlight.delete(domainId))
      inFlight.set(domainId, check)
      return check
    },
    verifyDue: (options) => verifyAllDue(parts, options),
  }
}

/** Ends within the 5 s after which the next check may begin: this one makes it when the other process died. */
async function verifyOnce(parts: VerificationParts, domainId: string): Promise<void> {
  while (!(await beginCheck(parts.db, domainId))) {
    const domain = await findDomainById(parts.db, domainId)
    if (!domain || isChecked(domain)) return
    await sleep(LOOK_MS)
  }
  await verify(parts, domainId)
}

/** Returns the new status; undefined when the domain was deleted or `signal` aborted. */
async function verify(
  parts: VerificationParts,
  domainId: string,
  { signal, onChange }: Partial<VerifyDueOptions> = {},
): Promise<Domain['status'] | undefined> {
  const domain = signal?.aborted ? undefined : await findDomainById(parts.db, domainId)
  if (!domain) return undefined
  const findings = await parts.verifier.check(domain, signal)
  if (signal?.aborted) return undefined
  const status = await applyChecks(parts, domain, findings)
  if (status && status !== domain.status) onChange?.(domain, status)
  return status
}

async function verifyAllDue(parts: VerificationParts, options: VerifyDueOptions): Promise<CheckCounts> {
  const { signal, onError } = options
  const counts: CheckCounts = {}
  /** The account of each check in progress. */
  const checks = new Map<Promise<void>, string>()
  const endMs = performance.now() + RUN_MS

  function start({ id, accountId }: DueDomain): void {
    const check = verify(parts, id, options)
      .then((status) => {
        if (status) counts[status] = (counts[status] ?? 0) + 1
      })
      .catch(onError)
      .finally(() => checks.delete(check))
    checks.set(check, accountId)
  }

  try {
    while (!signal.aborted && performance.now() < endMs) {
      const due = checks.size < DUE_SLOTS ? await claimDue(parts.db, busyAccounts([...checks.values()])) : undefined
      if (!due && checks.size === 0) break
      if (due) start(due)
      await (due ? sleep(START_INTERVAL_MS) : Promise.race(checks.keys()))
    }
  } finally {
    await Promise.all(checks.keys())
  }
  return counts
}

/** Claims the domain that is longest overdue, except those of `busyAccounts`. Other runs skip it for a minute. */
async function claimDue(db: Database, busyAccounts: string[]): Promise<DueDomain | undefined> {
  const [domain] = await run<DueDomain>(db, CLAIM, [uuidArray(busyAccounts)])
  return domain
}

/** Whether the check that began last has a result. */
function isChecked({ checks, checkedAt }: Domain): boolean {
  const sinceMs = (checkedAt?.getTime() ?? 0) - CLOCKS_DIFFER_MS
  return Object.values(checks ?? {}).some(({ checked_at }) => Date.parse(checked_at) >= sinceMs)
}

/** The accounts that have as many of the checks in progress as there are free slots. `accounts` has that of each. */
function busyAccounts(accounts: string[]): string[] {
  return accounts.filter((account) => accounts.filter((each) => each === account).length >= DUE_SLOTS - accounts.length)
}
