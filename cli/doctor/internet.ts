import { randomBytes } from 'node:crypto'
import { getServers } from 'node:dns'
import ipaddr from 'ipaddr.js'
import { type DnsServer, queryDns } from '../../mail/dns/dns-query.ts'
import { parseServer, RCODES } from '../../mail/dns/resolver.ts'
import { sendingHosts } from '../../server/domains/records.ts'
import type { CheckFinding, DoctorCheck } from './check.ts'
import { failure, inProduction, ok, skipped, warning, worstOf } from './check.ts'
import { dnssec } from './dnssec.ts'
import type { Patient } from './patient.ts'
import { port25 } from './port-25.ts'

const QUERY_MS = 2_000
/** A send waits for several answers one after the other, and a query of the product ends after a second. */
const SLOW_MS = 500

const resolver: DoctorCheck = {
  name: 'resolver',
  about: 'every DNS resolver answers, soon, and not for names that do not exist',
  reads: ['DNS_SERVERS', 'NODE_ENV'],
  run: inProduction(async ({ config: { dnsServers } }) => {
    const servers = (dnsServers ?? getServers()).map(parseServer)
    if (servers.length === 0) return failure('there is none', 'Set DNS_SERVERS.')
    return worstOf(await Promise.all(servers.map(judgeResolver)))
  }),
}

/**
 * Asks for two names that do not exist: one that resolvers must know by themselves (RFC 6761 6.4), and one that they
 * have to ask others for.
 */
async function judgeResolver(server: DnsServer): Promise<CheckFinding> {
  const label = `verdict-doctor-${randomBytes(6).toString('hex')}`
  const shown = `${server.address}${server.port === 53 ? '' : `:${server.port}`}`
  const answers = await Promise.all(
    [`${label}.invalid`, `${label}.example.com`].map(async (name) => {
      const first = await timedAnswer(server, name)
      if (!('failure' in first.response) && first.tookMs <= SLOW_MS) return first
      // All checks begin at once: on a busy machine the first answer may wait for the doctor itself.
      return timedAnswer(server, `again-${name}`)
    }),
  )
  for (const { response } of answers) {
    const [address] =
      'rcode' in response ? response.answers.flatMap((each) => (each.type === 'A' ? each.address : [])) : []
    if (address)
      return failure(
        `${shown} answers ${address} for a name that does not exist: mail to mistyped domains would go there`,
        'Set DNS_SERVERS to a resolver that tells the truth, such as one of your own.',
      )
  }
  const { response, tookMs } = answers[1]!
  const trouble = 'failure' in response ? response.failure : RCODES[response.rcode]
  if (trouble)
    return failure(
      `${shown} does not answer (${trouble}): no mail leaves`,
      'Set DNS_SERVERS to a resolver that this machine can reach.',
    )
  const took = `${shown} took ${Math.round(tookMs)} ms`
  if (tookMs > SLOW_MS) return warning(`${took}: each send waits for it`, 'Set DNS_SERVERS to a nearer resolver.')
  return ok(`${took}, and does not invent names`)
}

async function timedAnswer(server: DnsServer, name: string) {
  const startedMs = performance.now()
  const response = await queryDns(server, name, 'A', QUERY_MS)
  return { response, tookMs: performance.now() - startedMs }
}

const publicAddresses: DoctorCheck = {
  name: 'public_addresses',
  about: 'the addresses are known that receivers see mail come from',
  reads: ['SMTP_PUBLIC_ADDRESSES', 'SMTP_SOURCE_ADDRESSES', 'NODE_ENV'],
  run: inProduction((patient) => {
    const { sourceAddresses, sourceDetail } = sendingHosts(patient.config)
    if (sourceAddresses.length > 0) return ok(sourceDetail ?? sourceAddresses.join(', '))
    const [seen, wayOut] = sourceDetail!.split('. ')
    return failure(`${seen}. No domain can be verified`, `${wayOut}.`)
  }),
}

const ptr: DoctorCheck = {
  name: 'ptr',
  about: 'every public address has a PTR record, whose name leads back to it',
  reads: ['SMTP_PUBLIC_ADDRESSES', 'SMTP_SOURCE_ADDRESSES', 'DNS_SERVERS', 'NODE_ENV'],
  run: inProduction(async (patient) => {
    const { sourceAddresses } = sendingHosts(patient.config)
    if (sourceAddresses.length === 0) return skipped('no public address is known')
    return worstOf(await Promise.all(sourceAddresses.map((address) => judgePtr(patient, address))))
  }),
}

async function judgePtr(patient: Patient, address: string): Promise<CheckFinding> {
  const wayOut = `Ask the provider of ${address} to set its PTR record to ${patient.config.smtpHeloName}.`
  const names = await recordsOf(() => patient.dns.resolvePtr(reverseName(address)))
  if (typeof names === 'string') return untried(`DNS does not answer for the PTR record of ${address} (${names})`)
  if (names.length === 0) return failure(`${address} has no PTR record: many receivers refuse its mail`, wayOut)
  const leads = await Promise.all(names.map((name) => addressesOf(patient, name)))
  const silent = leads.find((found) => typeof found === 'string')
  if (leads.some((found) => found.includes(address))) return ok(`${address} is ${names.join(', ')}`)
  if (silent) return untried(`DNS does not answer for ${names.join(', ')} (${silent})`)
  return failure(`the PTR record of ${address} names ${names.join(', ')}, which does not lead back to it`, wayOut)
}

/** The name of an address's PTR record: RFC 1035 3.5, RFC 3596 2.5. */
export function reverseName(address: string): string {
  const parsed = ipaddr.parse(address)
  const octets = parsed.toByteArray().toReversed()
  if (parsed.kind() === 'ipv4') return `${octets.join('.')}.in-addr.arpa`
  const nibbles = octets.flatMap((octet) => [octet & 15, octet >> 4].map((nibble) => nibble.toString(16)))
  return `${nibbles.join('.')}.ip6.arpa`
}

const helo: DoctorCheck = {
  name: 'helo',
  about: '`SMTP_HELO_NAME` is a full name that leads to every public address',
  reads: ['SMTP_HELO_NAME', 'SMTP_PUBLIC_ADDRESSES', 'SMTP_SOURCE_ADDRESSES', 'DNS_SERVERS', 'NODE_ENV'],
  run: inProduction(async (patient) => {
    const { smtpHeloName: name } = patient.config
    if (!name.includes('.'))
      return failure(
        `SMTP_HELO_NAME is ${name}, which is not a full name: many receivers refuse mail from it`,
        'Set SMTP_HELO_NAME to a name in your own domain, such as mail.example.com.',
      )
    const found = await addressesOf(patient, name)
    if (typeof found === 'string') return untried(`DNS does not answer for ${name} (${found})`)
    const missing = sendingHosts(patient.config).sourceAddresses.filter((address) => !found.includes(address))
    if (found.length > 0 && missing.length === 0) return ok(`${name} is ${found.join(', ')}`)
    return failure(
      found.length === 0
        ? `${name} has no address: many receivers refuse mail from it`
        : `${name} leads to ${found.join(', ')}, and not to ${missing.join(', ')}`,
      `Publish A or AAAA records of ${name} for the public addresses, or correct SMTP_HELO_NAME.`,
    )
  }),
}

const untried = (seen: string): CheckFinding =>
  warning(`could not be tried: ${seen}`, 'Mend the resolver, and try again.')

/** The IPv4 and IPv6 addresses of a name, or the error code of a resolver that does not answer. */
async function addressesOf({ dns }: Patient, name: string): Promise<string[] | string> {
  const [v4, v6] = await Promise.all([recordsOf(() => dns.resolve4(name)), recordsOf(() => dns.resolve6(name))])
  if (typeof v4 !== 'string' && typeof v6 !== 'string') return [...v4, ...v6]
  return typeof v4 === 'string' ? v4 : (v6 as string)
}

/** No records are an empty list. */
async function recordsOf(query: () => Promise<string[]>): Promise<string[] | string> {
  try {
    return await query()
  } catch (error) {
    const { code = 'failed' } = error as NodeJS.ErrnoException
    return code === 'ENOTFOUND' || code === 'ENODATA' ? [] : code
  }
}

export const INTERNET_CHECKS = [resolver, dnssec, port25, publicAddresses, ptr, helo]
