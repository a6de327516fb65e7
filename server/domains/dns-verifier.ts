import type { Resolver } from '../../mail/dns/resolver.ts'
import { createDns, type DnsParts, type DomainDns } from './authoritative.ts'
import { checkDkim } from './dkim-record.ts'
import { checkDmarc } from './dmarc-record.ts'
import type { Domain } from './domains.ts'
import { type Finding, unproven } from './observe.ts'
import { type PublishedRecord, recordsOf, type SendingHosts } from './records.ts'
import { checkReturnPath } from './return-path-check.ts'
import { hostsOfDomain } from './sending-pool.ts'
import { checkSpf } from './spf-check.ts'

/** By the `check` of a DnsRecord. */
export type Findings = Record<string, Finding>

export interface Verifier {
  /**
   * Queries every record of a domain, and judges its meaning, not its spelling. Never throws because of a DNS response,
   * and ends within the time limit of all queries.
   */
  check(domain: Domain, signal?: AbortSignal): Promise<Findings>
}

type Judge = (
  dns: DomainDns,
  domain: Domain,
  record: PublishedRecord,
  hosts: SendingHosts,
  all: readonly PublishedRecord[],
) => Promise<Finding>

const JUDGES: Record<PublishedRecord['record'], Judge> = {
  SPF: (dns, { name }, { host }, { sourceAddresses }) => checkSpf(dns, name, { host, sourceAddresses }),
  RETURN_PATH: checkReturnPath,
  DKIM: (dns, domain, record, _, all) => checkDkim(dns, domain, record, all),
  DMARC: checkDmarc,
}

interface VerifierParts extends DnsParts, Pick<Resolver, 'isFact'> {
  hosts: SendingHosts
}

/** Checks a domain's records in DNS. `verification.ts` decides when, and stores the findings. */
export function createVerifier({ hosts, isFact, ...parts }: VerifierParts): Verifier {
  const dnsOf = createDns(parts)

  return {
    async check(domain, signal) {
      const askedMs = performance.now()
      const dns = dnsOf(domain.name, signal)
      const records = recordsOf(domain, hosts)
      const findings = records.map(async (record): Promise<[string, Finding]> => {
        const { record: kind, check, unknown } = record
        if (unknown !== undefined) return [check, { status: 'pending', observed: [], error: unknown }]
        return [check, await JUDGES[kind](dns, domain, record, hostsOfDomain(domain, hosts), records)]
      })
      const found = await Promise.all(findings)
      const isLacking = found.some(([, { status }]) => status === 'failed')
      if (!isLacking || ((await isFact?.(domain.name, askedMs)) ?? true)) return Object.fromEntries(found)
      return Object.fromEntries(found.map(([check, each]) => [check, each.status === 'failed' ? unproven() : each]))
    },
  }
}
