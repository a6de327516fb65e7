import { isIPv6 } from 'node:net'
import { networkInterfaces } from 'node:os'
import type { RecordCheck } from '../db/json-columns.ts'
import type { DkimKey, Domain } from './domains.ts'
import { readDomainName } from './name.ts'
import { detectSources } from './source-addresses.ts'

/** A DNS record that the owner of a domain publishes. */
export interface DnsRecord {
  record: 'SPF' | 'RETURN_PATH' | 'DKIM' | 'DMARC'
  type: 'TXT' | 'MX' | 'CNAME'
  /** The full name, without the last dot. */
  host: string
  /** Of an MX record the preference and the name. Empty while it is not known. */
  value: string
  /** Whether the domain is verified only with it. */
  required: boolean
  /** Its name among the checks of the domain: that of the record, of a DKIM key with its selector. */
  check: string
  /** Why the value is not known, for the owner of the domain. */
  unknown?: string
}

/** The machines that send and receive for all domains, as their operator names them. */
export interface SendingHosts {
  /** The addresses that other servers see mail come from. Empty when they are not known: no domain is verified then. */
  sourceAddresses: readonly string[]
  /** For the operator, when nobody set them: how they are known, or why they are not. */
  sourceDetail?: string
  /** A name of the operator with SPF and MX for all domains, which then need one CNAME; undefined: each has records of its own. */
  returnPathHost: string | undefined
  /** Where bounces are delivered to. */
  bounceHost: string | undefined
}

/** Outside production, where bounces of domains in a local DNS go. */
const DEVELOPMENT_HOST = 'mail.localhost'

/**
 * The hosts that the operator has named, and what the machine itself tells of the others. A host whose name is not a full one cannot be
 * named in the DNS of others.
 */
export function sendingHosts(
  config: {
    production: boolean
    smtpPublicAddresses: readonly string[]
    returnPathHost: string | undefined
    smtpHeloName: string
  },
  interfaces = networkInterfaces(),
): SendingHosts {
  const { production, smtpPublicAddresses, returnPathHost, smtpHeloName } = config
  const bounceHost = readDomainName(smtpHeloName) ?? (production ? undefined : DEVELOPMENT_HOST)
  if (smtpPublicAddresses.length > 0) return { sourceAddresses: smtpPublicAddresses, returnPathHost, bounceHost }
  const { addresses, detail } = detectSources(interfaces, production)
  return { sourceAddresses: addresses, sourceDetail: detail, returnPathHost, bounceHost }
}

/**
 * What a domain publishes: the return path with its SPF (RFC 7208) and the MX of its bounces, or one CNAME to where the operator has
 * both; its DKIM keys (RFC 6376 3.6.1); and a DMARC policy to start with (RFC 7489).
 */
export function recordsOf({ name, dkimKeys }: Pick<Domain, 'name' | 'dkimKeys'>, hosts: SendingHosts): DnsRecord[] {
  return [...returnPathRecords(name, hosts), ...dkimKeys.map((key) => dkimRecord(name, key)), dmarcRecord(name)]
}

/** A record beside what the last check found in its place. */
export interface CheckedRecord extends DnsRecord {
  status: RecordCheck['status']
  observed: string[]
  error?: string
  checkedAt?: Date
}

/** What a domain publishes, each with what DNS had at the last check. */
export function checkedRecords(domain: Domain, hosts: SendingHosts): CheckedRecord[] {
  return recordsOf(domain, hosts).map((record): CheckedRecord => {
    const check = domain.checks?.[record.check]
    if (record.unknown) return { ...record, status: 'pending', observed: [], error: record.unknown }
    if (!check) return { ...record, status: 'pending', observed: [] }
    const { status, observed, error, checked_at } = check
    return { ...record, status, observed, error, checkedAt: new Date(checked_at) }
  })
}

/** Where the bounces of a domain go, and the name that SPF is checked for: under the domain, so that SPF is aligned with it. */
export function returnPathHostOf(name: string): string {
  return `rp.${name}`
}

function returnPathRecords(name: string, hosts: SendingHosts): DnsRecord[] {
  const host = returnPathHostOf(name)
  const { returnPathHost } = hosts
  if (returnPathHost === undefined) return hostRecords(host, hosts)
  const value = returnPathHost
  return [{ record: 'RETURN_PATH', type: 'CNAME', host, value, required: true, check: 'RETURN_PATH' }]
}

/** What stands at a host that mail comes from: SPF with the addresses of the service, and the MX of bounces. */
export function hostRecords(host: string, { sourceAddresses, bounceHost }: SendingHosts): DnsRecord[] {
  const sources = sourceAddresses.map((address) => `${isIPv6(address) ? 'ip6' : 'ip4'}:${address}`)
  const spf = { record: 'SPF', type: 'TXT', host, required: true, check: 'SPF' } as const
  const mx = { record: 'RETURN_PATH', type: 'MX', host, required: true, check: 'RETURN_PATH' } as const
  return [
    // One that lets nobody send would be worse than none.
    sources.length > 0
      ? { ...spf, value: ['v=spf1', ...sources, '-all'].join(' ') }
      : { ...spf, value: '', unknown: UNKNOWN_SOURCES },
    bounceHost
      ? { ...mx, value: `10 ${bounceHost}` }
      : { ...mx, value: '', unknown: unsaid('the full name of its mail server', 'SMTP_HELO_NAME') },
  ]
}

/** Of an SPF record that cannot be checked. */
export const UNKNOWN_SOURCES = unsaid('the addresses its mail leaves from', 'SMTP_SOURCE_ADDRESSES')

function unsaid(what: string, variable: string): string {
  return `The service does not know ${what} yet: its operator sets ${variable}.`
}

function dkimRecord(name: string, { selector, algorithm, publicKey, state }: DkimKey): DnsRecord {
  return {
    record: 'DKIM',
    type: 'TXT',
    host: `${selector}._domainkey.${name}`,
    value: dkimValue(algorithm, publicKey),
    required: state === 'active',
    check: `DKIM:${selector}`,
  }
}

function dmarcRecord(name: string): DnsRecord {
  const value = 'v=DMARC1; p=none'
  return { record: 'DMARC', type: 'TXT', host: `_dmarc.${name}`, value, required: true, check: 'DMARC' }
}

/** RFC 8463 4: an Ed25519 key is published bare, without the SPKI around its last 32 bytes. */
function dkimValue(algorithm: 'rsa' | 'ed25519', publicKey: Uint8Array): string {
  const bytes = algorithm === 'rsa' ? publicKey : publicKey.slice(-32)
  return `v=DKIM1; k=${algorithm}; p=${Buffer.from(bytes).toString('base64')}`
}

/** One string of a TXT record holds 255 bytes (RFC 1035 3.3.14): what is longer is written as several. */
export function stringsOf(value: string): string[] {
  return value.match(/.{1,255}/g) ?? []
}

/** The line of a record in a zone file (RFC 1035 5.1). */
export function zoneLine({ host, type, value }: Pick<DnsRecord, 'host' | 'type' | 'value'>): string {
  const shown =
    type === 'TXT'
      ? stringsOf(value)
          .map((part) => `"${part}"`)
          .join(' ')
      : `${value}.`
  return `${host}.  ${type}  ${shown}`
}
