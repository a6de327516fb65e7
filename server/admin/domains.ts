import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import type { DomainService } from '../../gen/verdict/admin/v1/domains_pb.ts'
import { nameFault } from '../../net/clean-text.ts'
import { requesterOf } from '../access/audit/requester.ts'
import { accountOf } from '../caller.ts'
import type { Database } from '../db/connect.ts'
import { and, eq } from '../db/drizzle.ts'
import { parsePublicId } from '../db/ids.ts'
import { domains } from '../db/schema.ts'
import { fail, failFields } from '../errors.ts'
import type { Backend } from '../services/backend.ts'
import { countRefused, readPause, resumeDomain } from './pause.ts'

const REASON_CHARACTERS = 200

/** What a person sees of a paused domain, and how an owner ends the pause. */
export function createPausedDomainService({
  db,
  limits,
  clock,
}: Pick<Backend, 'db' | 'limits' | 'clock'>): ServiceImpl<typeof DomainService> {
  return {
    async getPause({ domainId }, context) {
      const domain = await ownDomain(db, accountOf(context), domainId)
      const pause = await readPause(db, domain, limits.breaker)
      if (!pause) return {}
      const { refusesAll, since, until, resumableAt, ...counts } = pause
      return {
        pause: {
          ...counts,
          refusesAll,
          since: timestampFromDate(since),
          until: refusesAll ? timestampFromDate(until) : undefined,
          resumableAt: resumableAt === null ? undefined : timestampFromDate(resumableAt),
          refusedSends: await countRefused(db, domain, since),
        },
      }
    },

    async resumeDomain({ domainId, reason }, context) {
      const requester = requesterOf(context.values)
      const why = reason.trim()
      const fault = why === '' ? 'is required: the audit log shows it' : nameFault(why, REASON_CHARACTERS)
      if (fault) throw failFields('invalid_payload', [{ field: 'reason', message: fault }])
      const domain = await ownDomain(db, requester.accountId, domainId)
      const resumed = await resumeDomain(db, domain, limits.breaker, { requester, reason: why })
      if (resumed === 'not_paused') {
        throw failFields('invalid_payload', [{ field: 'domain_id', message: `is ${domain.name}, which is not paused` }])
      }
      if (resumed !== 'resumed') {
        throw fail(
          'rate_limit_exceeded',
          `${domain.name} was resumed less than 24 hours ago. An owner can do that again after ${resumed.toISOString().slice(0, 16).replace('T', ' ')} UTC. The operator can do it at any time.`,
          { retryAfterSeconds: Math.max(1, Math.ceil((resumed.getTime() - clock.now()) / 1_000)) },
        )
      }
      return {}
    },
  }
}

async function ownDomain(db: Database, accountId: string, domainId: string) {
  const id = parsePublicId('dom', domainId)
  const isIt = id && and(eq(domains.id, id), eq(domains.accountId, accountId))
  const [domain] = isIt ? await db.select().from(domains).where(isIt) : []
  if (domain) return domain
  throw fail('not_found', 'There is no such domain in this account.')
}
