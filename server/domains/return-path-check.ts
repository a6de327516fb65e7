import type { DomainDns, Found } from './authoritative.ts'
import type { Domain } from './domains.ts'
import { type Finding, failed, missing, unanswered, verified } from './observe.ts'
import type { DnsRecord, SendingHosts } from './records.ts'
import { checkSpf } from './spf-check.ts'

/** Whether bounces come to us: by an MX record of the return path, or by its alias, which SPF follows too. */
export function checkReturnPath(
  dns: DomainDns,
  { name }: Domain,
  record: DnsRecord,
  hosts: SendingHosts,
): Promise<Finding> {
  return record.type === 'CNAME' ? checkAlias(dns, name, record, hosts) : checkExchanger(dns, name, record)
}

async function checkExchanger(dns: DomainDns, domain: string, record: DnsRecord): Promise<Finding> {
  const { host, value } = record
  const wanted = nameOf(value)
  const found = await dns.find(host, 'MX')
  if (found.kind === 'unanswered') return unanswered(host, found)
  if (found.kind === 'missing') {
    return missing(dns, domain, record, found, (values) => values.some((there) => nameOf(there) === wanted))
  }
  const first = mostPreferred(found)
  if (first.every((exchanger) => exchanger === wanted)) return verified(found.values)
  return failed(
    found.values,
    found.values.some((there) => nameOf(there) === wanted)
      ? `Bounces go to ${first.filter((exchanger) => exchanger !== wanted).join(', ')} too, or first. Leave only the MX record shown.`
      : `Bounces go to ${first.join(', ')}. Replace it by the MX record shown.`,
  )
}

/** The alias itself, or what does the same: the exchangers of the operator's host, and SPF that lets it send. */
async function checkAlias(dns: DomainDns, domain: string, record: DnsRecord, hosts: SendingHosts): Promise<Finding> {
  const { host, value } = record
  const [found, target] = await Promise.all([dns.find(host, 'MX'), dns.find(value, 'MX')])
  if (found.kind === 'unanswered') return unanswered(host, found)
  if (target.kind === 'unanswered') return unanswered(value, target)
  const observed = [...found.aliases.map((name) => `CNAME ${name}`), ...(found.kind === 'records' ? found.values : [])]
  if (!found.aliases.includes(value)) {
    if (found.kind === 'missing') return missing(dns, domain, record, found, (_, aliases) => aliases.includes(value))
    if (String(mostPreferred(found)) !== String(mostPreferred(target))) {
      return failed(observed, `${host} does not lead to ${value}. Replace what is there by the CNAME record shown.`)
    }
  }
  if (target.kind === 'missing') {
    return failed(
      observed,
      `${value} has no MX record, so bounces would be lost. That is for the operator of the service.`,
    )
  }
  const spf = await checkSpf(dns, domain, { host, sourceAddresses: hosts.sourceAddresses })
  return spf.status === 'verified'
    ? verified(observed)
    : { ...spf, observed: [...verified(observed).observed, ...spf.observed] }
}

/** The names that mail goes to first (RFC 5321 5.1), sorted. */
function mostPreferred(found: Found): string[] {
  if (found.kind !== 'records') return []
  const least = Math.min(...found.values.map((value) => Number.parseInt(value, 10)))
  return found.values
    .filter((value) => Number.parseInt(value, 10) === least)
    .map(nameOf)
    .toSorted()
}

const nameOf = (exchanger: string) => exchanger.split(' ')[1] ?? ''
