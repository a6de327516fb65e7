import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import type { DomainService } from '../../gen/verdict/admin/v1/domains_pb.ts'
import { requesterOf } from '../access/audit/requester.ts'
import { accountOf } from '../caller.ts'
import type { Database } from '../db/connect.ts'
import { and, eq } from '../db/drizzle.ts'
import { parsePublicId } from '../db/ids.ts'
import { domains } from '../db/schema.ts'
import { fail, failFields } from '../errors.ts'
import type { Backend } from '../services/backend.ts'
import { countRefused } from './count-refused.ts'
import { readPause, reasonFault, resumeDomain, type ShownPause } from './pause.ts'

/** Programs look for it beside the other calls of a domain. */
export const RESUME_DOMAIN = {
  path: '/api/v1/domains/{domain_id}/resume',
  message:
    'An API key cannot resume a domain. An owner does it on the page of the domain in the dashboard, and the operator with `verdict domains resume`.',
}

/** What a person sees of a paused domain, and how an owner ends the pause. */
export function createPausedDomainService(
  parts: Pick<Backend, 'db' | 'limits' | 'clock'>,
): ServiceImpl<typeof DomainService> {
  const { db, limits, clock } = parts
  return {
    async getPause({ domainId }, context) {
      const accountId = accountOf(context)
      const domain = await ownDomain(db, accountId, domainId)
      const pause = await readPause(db, domain, limits.breaker)
      return pause ? { pause: await shownPause(db, domain, pause) } : {}
    },

    async resumeDomain({ domainId, reason }, context) {
      const requester = requesterOf(context.values)
      const why = reason.trim()
      const fault = reasonFault(why)
      if (fault) throw failFields('invalid_payload', [{ field: 'reason', message: fault }])
      const domain = await ownDomain(db, requester.accountId, domainId)
      const resumed = await resumeDomain(db, domain, limits.breaker, { requester, reason: why })
      if (resumed === 'not_paused') {
        throw failFields('invalid_payload', [{ field: 'domain_id', message: `is ${domain.name}, which is not paused` }])
      }
      if (resumed !== 'resumed') {
        throw fail(
          'rate_limit_exceeded',
          `${domain.name} was resumed less than 24 hours ago. An owner can do that again after ${new Date(resumed.resumableAtMs).toISOString().slice(0, 16).replace('T', ' ')} UTC. The operator can do it at any time.`,
          { retryAfterSeconds: Math.max(1, Math.ceil((resumed.resumableAtMs - clock.now()) / 1_000)) },
        )
      }
      return {}
    },
  }
}

async function shownPause(db: Database, { accountId, name }: typeof domains.$inferSelect, pause: ShownPause) {
  const { refusesAll, sinceMs, untilMs, resumableAtMs, ...counts } = pause
  return {
    ...counts,
    refusesAll,
    since: timestampFromMs(sinceMs),
    until: refusesAll ? timestampFromMs(untilMs) : undefined,
    resumableAt: resumableAtMs === null ? undefined : timestampFromMs(resumableAtMs),
    refusedSends: await countRefused(db, accountId, sinceMs, name),
  }
}

async function ownDomain(db: Database, accountId: string, domainId: string) {
  const id = parsePublicId('dom', domainId)
  const isIt = id && and(eq(domains.id, id), eq(domains.accountId, accountId))
  const [domain] = isIt ? await db.select().from(domains).where(isIt) : []
  if (domain) return domain
  throw fail('not_found', 'There is no such domain in this account.')
}
