import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from '../db/drizzle.ts'
import { createSlots } from '../slots.ts'
import { type ApplyParts, applyChecks } from './apply-checks.ts'
import { beginCheck, type Domain, findDomainById } from './domains.ts'
import type { Verifier } from './verify.ts'

export interface Verification {
  /**
   * Asks DNS about a domain and writes down what it says, unless another check of it began within 5 s: of one in this process it waits
   * for the end. While many others are checked it waits for its turn, and while very many are, nothing is done.
   */
  verifyNow(domainId: string): Promise<void>
  /** Checks what is due, the longest due first, until nothing is, or the time of a run is over, or `signal` says to stop. */
  verifyDue(run: DueRun): Promise<Verified>
}

export interface DueRun {
  signal: AbortSignal
  /** Hears of every status that a check has changed. */
  changed(domain: Domain, status: Domain['status']): void
  /** Hears of every fault of ours; that domain is checked again a minute later. */
  failed(error: unknown): void
}

/** How many domains were checked, by the status they have since. */
export type Verified = Partial<Record<Domain['status'], number>>

/** Checks on request, in one process. */
const AT_ONCE = 4
const MAX_WAITING = 40
/** Checks of what is due. Half of them for one account: one with very many domains, or with servers that are silent, delays no other. */
const DUE_AT_ONCE = 10
const DUE_OF_ACCOUNT = 5
/** A run ends before the next one begins with the next minute. Until then checks begin evenly, so that they delay no send. */
const RUN_MS = 50_000
const PACE_MS = 100
/** A check whose process died is made again after this. */
const LEASE = "interval '1 minute'"

interface Claimed extends Record<string, unknown> {
  id: string
  accountId: string
}

export function createVerification(parts: ApplyParts & { verifier: Verifier }): Verification {
  const { db, verifier } = parts
  const running = new Map<string, Promise<void>>()
  const places = createSlots({ perKey: AT_ONCE, maxWaiting: MAX_WAITING })

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
    const free = await places.take('')
    try {
      if (free && (await beginCheck(db, domainId))) await verify(domainId)
    } finally {
      free?.()
    }
  }

  /** The next domain that is due, of none of the `busy` accounts, kept from other runs for a minute. */
  async function claim(busy: string[]): Promise<Claimed | undefined> {
    const [row] = await db.execute<Claimed>(sql`
      update domains set next_check_at = now() + ${sql.raw(LEASE)}, checked_at = now()
      where id = (
        select id from domains where next_check_at <= now() and account_id <> all(${`{${busy}}`}::uuid[])
        order by next_check_at limit 1 for update skip locked
      )
      returning id, account_id as "accountId"`)
    return row
  }

  return {
    verifyNow(domainId) {
      const flight = running.get(domainId) ?? verifyInTurn(domainId).finally(() => running.delete(domainId))
      running.set(domainId, flight)
      return flight
    },

    async verifyDue(run) {
      const { signal, failed } = run
      const verified: Verified = {}
      /** The checks in progress, with their accounts. */
      const checks = new Map<Promise<void>, string>()
      const endMs = performance.now() + RUN_MS

      function begin({ id, accountId }: Claimed): void {
        const check = verify(id, run)
          .then((status) => {
            if (status) verified[status] = (verified[status] ?? 0) + 1
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
      return verified
    },
  }
}

/** The accounts that have as many checks in progress as they may. */
function busyOf(accounts: string[]): string[] {
  return accounts.filter((account) => accounts.filter((each) => each === account).length >= DUE_OF_ACCOUNT)
}
