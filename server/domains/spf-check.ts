import type { RecordType } from '../../mail/dns/dns-message.ts'
import { cleanText } from '../../net/clean-text.ts'
import type { DomainAnswer, DomainDns } from './authoritative.ts'
import { type Finding, failed, missing, unanswered, verified } from './observe.ts'
import { UNKNOWN_SOURCES } from './records.ts'

/** The senders that SPF at the return path must permit. */
export interface Senders {
  /** The name that SPF is checked for. */
  host: string
  sourceAddresses: readonly string[]
}

/** Whether SPF at the return path permits each of our addresses (RFC 7208), however the record is written. */
export async function checkSpf(dns: DomainDns, domain: string, { host, sourceAddresses }: Senders): Promise<Finding> {
  const answer = await dns.find(host, 'TXT')
  if (answer.kind === 'unanswered') return unanswered(host, answer)
  const values = answer.kind === 'records' ? answer.values : []
  const records = values.filter(isSpf)
  if (answer.kind === 'missing')
    return missing(dns, domain, { host, type: 'TXT' }, answer, (texts) => texts.some(isSpf))
  if (records.length === 0) return failed(values, `There is no SPF record among the TXT records of ${host}. Add it.`)
  // Without an address there is nothing to evaluate: even a record that permits no sender would count as right.
  if (sourceAddresses.length === 0) return { status: 'pending', observed: [], error: UNKNOWN_SOURCES }
  if (records.length > 1) {
    return failed(records, `There are ${records.length} SPF records at ${host}, and then none counts. Leave one.`)
  }
  const results = await Promise.all(sourceAddresses.map((address) => evaluate(dns, host, address)))
  return judge(host, records, results)
}

interface Result {
  address: string
  result: string
  comment: string
}

async function evaluate(dns: DomainDns, host: string, address: string): Promise<Result> {
  // The first check loads mailauth: it takes 37 MB, which a process that only sends does not need.
  const { spf } = await import('mailauth/lib/spf/index.js')
  const resolver = resolverOf(dns)
  const { status } = await spf({ sender: `bounce@${host}`, helo: host, ip: address, resolver, strict: true })
  return { address, result: status.result, comment: status.comment ? String(status.comment) : '' }
}

function judge(host: string, records: string[], results: Result[]): Finding {
  const broken = results.find(({ result }) => result === 'permerror')
  if (broken) return failed(records, `The SPF record of ${host} cannot be evaluated: ${reasonOf(broken)}. Correct it.`)
  const unknown = results.find(({ result }) => result === 'temperror')
  if (unknown) return { ...unanswered(host, { kind: 'unanswered', cause: reasonOf(unknown) }) }
  const refused = results.filter(({ result }) => result !== 'pass').map(({ address }) => address)
  if (refused.length === 0) return verified(records)
  return failed(records, `The SPF record of ${host} does not let ${refused.join(', ')} send. Use the value shown.`)
}

/** mailauth's comment, without the sender, which is ours. */
function reasonOf({ comment }: Result): string {
  return cleanText(comment.replace(/^.* during lookup of \S+: /, '').slice(0, 200))
}

/** Whether a TXT record is an SPF record (RFC 7208 4.5). */
function isSpf(value: string): boolean {
  return /^v=spf1(?: |$)/i.test(value)
}

/** The DNS of the check, with its deadlines, in the form that mailauth calls. */
function resolverOf(dns: DomainDns) {
  return async (name: string, type: string) => answerOf(await dns.find(name, type as RecordType), type)
}

// biome-ignore lint/suspicious/noExplicitAny: the answers have the shapes of node:dns, by type.
function answerOf(answer: DomainAnswer, type: string): any {
  if (answer.kind === 'unanswered') throw Object.assign(new Error(answer.cause), { code: 'ESERVFAIL' })
  if (answer.kind === 'missing') throw Object.assign(new Error('no such record'), { code: 'ENOTFOUND' })
  if (type === 'TXT') return answer.values.map((value) => [value])
  if (type !== 'MX') return answer.values
  return answer.values.map((value) => {
    const [priority, exchange = ''] = value.split(' ')
    return { priority: Number(priority), exchange }
  })
}
