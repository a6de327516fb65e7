import { sql } from 'drizzle-orm'
import { type ApplyParts, applyChecks } from './apply-checks.ts'
import { beginCheck, type Domain, findDomainById } from './domains.ts'
import type { Verifier } from './verify.ts'

export interface Verification {
  /**
   * Asks DNS about a domain and writes down what it says, unless another check of it began within 5 s: of one in this process it waits
   * for the end. While many others are checked it waits for its turn, and while very many are, nothing is done.
   */
  verifyNow(domainId: string): Promise<void>
  /** Checks what is due, the longest due first, until nothing is, or `signal` says to stop. */
  verifyDue(signal: AbortSignal): Promise<Verified>
}

/** How many domains were checked, by the status they have since. */
export type Verified = Partial<Record<Domain['status'], number>>

/** How many domains are checked at once on request, and when they are due; and how many in one run. */
const AT_ONCE = 4
const MAX_WAITING = 40
const DUE_AT_ONCE = 10
const MAX_DUE = 1_000
/** A check whose process died is made again after this. */
const LEASE = "interval '1 minute'"

export interface VerificationParts extends ApplyParts {
  verifier: Verifier
  /** Hears of every fault of ours while due domains are checked; the domain is checked again a minute later. */
  failed(error: unknown): void
}

export function createVerification(parts: VerificationParts): Verification {
  const { db, verifier, failed } = parts
  const running = new Map<string, Promise<void>>()
  const places = createPlaces(AT_ONCE, MAX_WAITING)

  async function verify(domainId: string, signal?: AbortSignal): Promise<Domain['status'] | undefined> {
    const domain = await findDomainById(db, domainId)
    if (!domain) return undefined
    const findings = await verifier.check(domain, signal)
    return signal?.aborted ? undefined : applyChecks(parts, domainId, findings)
  }

  async function verifyInTurn(domainId: string): Promise<void> {
    const free = await places.take()
    try {
      if (free && (await beginCheck(db, domainId))) await verify(domainId)
    } finally {
      free?.()
    }
  }

  /** The next domain that is due, kept from other runs for a minute. */
  async function claim(): Promise<string | undefined> {
    const [row] = await db.execute<{ id: string }>(sql`
      update domains set next_check_at = now() + ${sql.raw(LEASE)}, checked_at = now()
      where id = (
        select id from domains where next_check_at <= now() order by next_check_at limit 1 for update skip locked
      )
      returning id`)
    return row?.id
  }

  return {
    verifyNow(domainId) {
      const flight = running.get(domainId) ?? verifyInTurn(domainId).finally(() => running.delete(domainId))
      running.set(domainId, flight)
      return flight
    },

    async verifyDue(signal) {
      const verified: Verified = {}
      let left = MAX_DUE
      const lane = async () => {
        while (left-- > 0 && !signal.aborted) {
          const id = await claim()
          if (id === undefined) return
          const status = await verify(id, signal).catch(failed)
          if (status) verified[status] = (verified[status] ?? 0) + 1
        }
      }
      await Promise.all(Array.from({ length: DUE_AT_ONCE }, lane))
      return verified
    },
  }
}

/** So many at once. The others wait for their turn, unless there are too many: those get no place. */
function createPlaces(free: number, maxWaiting: number) {
  const waiting: (() => void)[] = []
  const leave = () => {
    const next = waiting.shift()
    if (next) next()
    else free++
  }
  return {
    async take(): Promise<(() => void) | undefined> {
      if (free > 0) free--
      else if (waiting.length >= maxWaiting) return undefined
      else await new Promise<void>((turn) => waiting.push(turn))
      return leave
    },
  }
}
