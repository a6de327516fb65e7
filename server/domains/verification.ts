import { setTimeout as sleep } from 'node:timers/promises'
import { run, uuidArray } from '../db/statement.ts'
import { createSlots } from '../slots.ts'
import { type ApplyParts, applyChecks } from './apply-checks.ts'
import { beginCheck, type Domain, findDomainById } from './domains.ts'
import type { Verifier } from './verify.ts'

export interface Verification {
  /**
   * Checks the DNS of a domain and stores the result, unless another check of it began within 5 s; it waits for the end
   * of one in this process. It waits for its turn while many domains are checked, and does nothing while very many are.
   */
  verifyNow(domainId: string): Promise<void>
  /**
   * Checks the domains that are due, the longest due first, until none is, the run has lasted its time, or `signal`
   * aborts.
   */
  verifyDue(run: DueRun): Promise<CheckCounts>
}

export interface DueRun {
  signal: AbortSignal
  /** Called for every status that a check changed. */
  changed(domain: Domain, status: Domain['status']): void
  /** Called for every fault of ours; that domain is checked again a minute later. */
  failed(error: unknown): void
}

/** How many domains were checked, by their new status. */
export type CheckCounts = Partial<Record<Domain['status'], number>>

/** The most checks on request at the same time, in one process, and the most that wait. */
const AT_ONCE = 4
const MAX_WAITING = 40
/**
 * The most checks of due domains at the same time. One account gets half of them, so its many or silent domains delay
 * no other.
 */
const DUE_AT_ONCE = 10
const DUE_OF_ACCOUNT = 5
/**
 * A run ends before the next minute begins the next run. Until then checks begin evenly, so that they delay no send.
 */
const RUN_MS = 50_000
const PACE_MS = 100
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

export function createVerification(parts: ApplyParts & { verifier: Verifier }): Verification {
  const { db, verifier } = parts
  const running = new Map<string, Promise<void>>()
  const slots = createSlots({ slots: AT_ONCE, maxWaiting: MAX_WAITING })

  async function verify(domainId: string, { signal, changed }: Partial<DueRun> = {}) {
    const domain = signal?.aborted ? undefined : await findDomainById(db, domainId)
    if (!domain) return undefined
    const findings = await verifier.check(domain, signal)
    if (signal?.aborted) return undefined
    const status = await applyChecks(parts, domain, findings)
    if (status && status !== domain.status) changed?.(domain, status)
    return status
  }

  async function verifyInTurn(domainId: string): Promise<void> {
    const release = await slots.acquire()
    try {
      if (release && (await beginCheck(db, domainId))) await verify(domainId)
    } finally {
      release?.()
    }
  }

  /** Takes the next due domain, of none of the `busy` accounts, and keeps it from other runs for a minute. */
  async function claim(busy: string[]): Promise<DueDomain | undefined> {
    const [domain] = await run<DueDomain>(db, CLAIM, [uuidArray(busy)])
    return domain
  }

  return {
    verifyNow(domainId) {
      const flight = running.get(domainId) ?? verifyInTurn(domainId).finally(() => running.delete(domainId))
      running.set(domainId, flight)
      return flight
    },

    async verifyDue(dueRun) {
      const { signal, failed } = dueRun
      const counts: CheckCounts = {}
      /** The checks in progress, with their accounts. */
      const checks = new Map<Promise<void>, string>()
      const endMs = performance.now() + RUN_MS

      function begin({ id, accountId }: DueDomain): void {
        const check = verify(id, dueRun)
          .then((status) => {
            if (status) counts[status] = (counts[status] ?? 0) + 1
          })
          .catch(failed)
          .finally(() => checks.delete(check))
        checks.set(check, accountId)
      }

      try {
        while (!signal.aborted && performance.now() < endMs) {
          const due = checks.size < DUE_AT_ONCE ? await claim(busyOf([...checks.values()])) : undefined
          if (!due && checks.size === 0) break
          if (due) begin(due)
          await (due ? sleep(PACE_MS) : Promise.race(checks.keys()))
        }
      } finally {
        await Promise.all(checks.keys())
      }
      return counts
    },
  }
}

/** The accounts that have as many checks in progress as they may. */
function busyOf(accounts: string[]): string[] {
  return accounts.filter((account) => accounts.filter((each) => each === account).length >= DUE_OF_ACCOUNT)
}
