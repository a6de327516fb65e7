import type { DomainAnswer, DomainDns } from './authoritative.ts'
import type { Domain } from './domains.ts'
import { type Finding, failed, missing, unanswered, verified } from './observe.ts'
import type { PublishedRecord, SendingHosts } from './records.ts'
import { checkSpf } from './spf-check.ts'

/** Whether bounces reach us, by an MX record of the return path or by its alias, which SPF follows too. */
export function checkReturnPath(
  dns: DomainDns,
  { name }: Domain,
  record: PublishedRecord,
  hosts: SendingHosts,
): Promise<Finding> {
  return record.type === 'CNAME' ? checkAlias(dns, name, record, hosts) : checkExchanger(dns, name, record)
}

async function checkExchanger(dns: DomainDns, domain: string, record: PublishedRecord): Promise<Finding> {
  const { host, value } = record
  const expected = nameOf(value)
  const answer = await dns.find(host, 'MX')
  if (answer.kind === 'unanswered') return unanswered(host, answer)
  if (answer.kind === 'missing') {
    return missing(dns, domain, record, answer, (values) => values.some((there) => nameOf(there) === expected))
  }
  const first = mostPreferred(answer)
  if (first.every((exchanger) => exchanger === expected)) return verified(answer.values)
  return failed(
    answer.values,
    answer.values.some((there) => nameOf(there) === expected)
      ? `Bounces go to ${first.filter((exchanger) => exchanger !== expected).join(', ')} too, or first. Leave only the MX record shown.`
      : `Bounces go to ${first.join(', ')}. Replace it by the MX record shown.`,
  )
}

/**
 * Accepts the alias itself, or records with the same effect: the exchangers of the operator's host, and SPF that
 * permits it.
 */
async function checkAlias(
  dns: DomainDns,
  domain: string,
  record: PublishedRecord,
  hosts: SendingHosts,
): Promise<Finding> {
  const { host, value } = record
  const [own, target] = await Promise.all([dns.find(host, 'MX'), dns.find(value, 'MX')])
  if (own.kind === 'unanswered') return unanswered(host, own)
  if (target.kind === 'unanswered') return unanswered(value, target)
  const observed = [...own.aliases.map((name) => `CNAME ${name}`), ...(own.kind === 'records' ? own.values : [])]
  if (!own.aliases.includes(value)) {
    if (own.kind === 'missing') return missing(dns, domain, record, own, (_, aliases) => aliases.includes(value))
    if (String(mostPreferred(own)) !== String(mostPreferred(target))) {
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

/** The exchangers of the lowest preference, which get mail first (RFC 5321 5.1), sorted by name. */
function mostPreferred(answer: DomainAnswer): string[] {
  if (answer.kind !== 'records') return []
  const least = Math.min(...answer.values.map((value) => Number.parseInt(value, 10)))
  return answer.values
    .filter((value) => Number.parseInt(value, 10) === least)
    .map(nameOf)
    .toSorted()
}

const nameOf = (exchanger: string) => exchanger.split(' ')[1] ?? ''
