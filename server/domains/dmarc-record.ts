import { getDomain } from 'tldts'
import type { DomainDns } from './authoritative.ts'
import type { Domain } from './domains.ts'
import { type Finding, failed, missing, unanswered, verified } from './observe.ts'
import type { PublishedRecord } from './records.ts'

/**
 * Whether receivers find a DMARC policy for the domain: at its own name, or else at its organisational domain (RFC 9989
 * 4.10.1). Any policy counts.
 */
export async function checkDmarc(dns: DomainDns, { name }: Domain, record: PublishedRecord): Promise<Finding> {
  const organisation = getDomain(name, { allowPrivateDomains: true }) ?? name
  for (const holder of new Set([name, organisation])) {
    const host = `_dmarc.${holder}`
    const answer = await dns.find(host, 'TXT')
    if (answer.kind === 'unanswered') return unanswered(host, answer)
    const policies = answer.kind === 'records' ? answer.values.filter(isPolicy) : []
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

async function missingPolicy(dns: DomainDns, name: string, record: PublishedRecord): Promise<Finding> {
  const own = await dns.find(record.host, 'TXT')
  if (own.kind === 'records') {
    return failed(own.values, `What stands at ${record.host} is no DMARC policy. Add one that begins with v=DMARC1.`)
  }
  if (own.kind === 'unanswered') return unanswered(record.host, own)
  return missing(dns, name, record, own, (values) => values.some(isPolicy))
}

/** RFC 9989 4.7: the version tag alone makes the record a policy. */
function isPolicy(value: string): boolean {
  return /^v[ \t]*=[ \t]*DMARC1[ \t]*(;|$)/.test(value.trim())
}

/** Whether mail of the domain with an aligned signature passes the policy of `holder`. */
async function passes(name: string, holder: string, policy: string): Promise<boolean> {
  const resolver = async (host: string, type: string) => {
    if (type === 'TXT' && host === `_dmarc.${holder}`) return [[policy]]
    throw Object.assign(new Error('no such record'), { code: 'ENODATA' })
  }
  // The first check loads the library, as for SPF.
  const { dmarc } = await import('mailauth/lib/dmarc/index.js')
  const signatures = [{ domain: name, aligned: name }]
  const result = await dmarc({ headerFrom: name, dkimDomains: signatures, resolver, strict: true })
  return result !== false && result.status.result === 'pass'
}
