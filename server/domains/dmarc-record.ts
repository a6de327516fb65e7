import { getDomain } from 'tldts'
import type { DomainDns } from './authoritative.ts'
import type { Domain } from './domains.ts'
import { type Finding, failed, missing, unanswered, verified } from './observe.ts'
import type { DnsRecord } from './records.ts'

/**
 * Whether receivers find a DMARC policy for the domain: at its own name, or else inherited from its organisational domain (RFC 9989
 * 4.10.1). Any policy counts.
 */
export async function checkDmarc(dns: DomainDns, { name }: Domain, record: DnsRecord): Promise<Finding> {
  const organisation = getDomain(name, { allowPrivateDomains: true }) ?? name
  for (const holder of new Set([name, organisation])) {
    const host = `_dmarc.${holder}`
    const found = await dns.find(host, 'TXT')
    if (found.kind === 'unanswered') return unanswered(host, found)
    const policies = found.kind === 'records' ? found.values.filter(isPolicy) : []
    if (policies.length > 1) {
      return failed(policies, `There are ${policies.length} DMARC records at ${host}, and then none counts. Leave one.`)
    }
    const [policy] = policies
    if (policy === undefined) continue
    if (await passes(name, holder, policy)) return verified(policies)
    return failed(policies, `The DMARC record at ${host} has no valid policy: p= is none, quarantine or reject.`)
  }
  return missingPolicy(dns, name, record)
}

async function missingPolicy(dns: DomainDns, name: string, record: DnsRecord): Promise<Finding> {
  const own = await dns.find(record.host, 'TXT')
  if (own.kind === 'records') {
    return failed(own.values, `What stands at ${record.host} is no DMARC policy. Add one that begins with v=DMARC1.`)
  }
  if (own.kind === 'unanswered') return unanswered(record.host, own)
  return missing(dns, name, record, own, (values) => values.some(isPolicy))
}

/** RFC 9989 4.7: this and nothing else makes it a policy. */
function isPolicy(value: string): boolean {
  return /^v[ \t]*=[ \t]*DMARC1[ \t]*(;|$)/.test(value.trim())
}

/** What a receiver makes of the policy of `holder` for a mail of the domain with a signature that is aligned. */
async function passes(name: string, holder: string, policy: string): Promise<boolean> {
  const resolver = async (asked: string, type: string) => {
    if (type === 'TXT' && asked === `_dmarc.${holder}`) return [[policy]]
    throw Object.assign(new Error('no such record'), { code: 'ENODATA' })
  }
  // Loaded by the first check, as for SPF.
  const { dmarc } = await import('mailauth/lib/dmarc/index.js')
  const signed = [{ domain: name, aligned: name }]
  const result = await dmarc({ headerFrom: name, dkimDomains: signed, resolver, strict: true })
  return result !== false && result.status.result === 'pass'
}
