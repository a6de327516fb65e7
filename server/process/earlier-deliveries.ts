import type { WatchedResolver } from '../../mail/dns/resolver.ts'
import type { WatchedEngine } from '../../mail/smtp/attempt.ts'
import type { Database } from '../db/connect.ts'
import { firstIdAt } from '../db/ids.ts'
import { recipientDomainSql } from '../db/matching-sql.ts'
import { run } from '../db/statement.ts'
import { isToSimulator } from '../reputation/simulated.ts'

// What this machine cannot reach is the fault of a recipient only while it reaches others. A new process begins with
// those that earlier ones have reached, so that an outage that it starts in is not told as the recipients'.

const DAYS = 2
const NEWEST = 2_000
const DOMAINS = 16

/** Domains of their own are left out: without MX records DNS says little of them. */
const DELIVERED = `
  select domain, max(verified_mx) as "verifiedMx" from (
    select ${recipientDomainSql('email')} as domain,
      case when smtp->'tls'->>'by' in ('pkix', 'mta-sts') then lower(smtp->>'mx') end as verified_mx
    from (select * from recipients where message_id >= $1 order by message_id desc limit ${NEWEST}) as newest
    where status = 'delivered' and smtp->>'ip' is not null and lower(smtp->>'mx') <> ${recipientDomainSql('email')}
      and not ${isToSimulator('email')}
  ) as delivered
  group by domain order by random() limit ${DOMAINS}`

interface EarlierDelivery {
  domain: string
  /** An exchanger that proved itself to the public authorities. */
  verifiedMx: string | null
}

interface DomainParts {
  db: Database
  resolver: Pick<WatchedResolver, 'remember'>
  hasStaticRoute(domain: string): boolean
}

/** Notes domains that took a message of late. */
export async function rememberEarlierDomains(
  { db, resolver, hasStaticRoute }: DomainParts,
  nowMs: number,
): Promise<EarlierDelivery[]> {
  const delivered = await run<EarlierDelivery>(db, DELIVERED, [firstIdAt(nowMs - DAYS * 86_400_000)])
  for (const { domain } of delivered) if (!hasStaticRoute(domain)) resolver.remember(domain)
  return delivered
}

/** Notes domains, and the servers of them, that took a message of late. */
export async function rememberEarlierDeliveries(
  { engine, ...parts }: DomainParts & { engine: Pick<WatchedEngine, 'remember'> },
  nowMs: number,
): Promise<void> {
  const delivered = await rememberEarlierDomains(parts, nowMs)
  await Promise.all(delivered.map(({ domain, verifiedMx }) => engine.remember(domain, verifiedMx)))
}
