import { isIPv6 } from 'node:net'
import { networkInterfaces } from 'node:os'
import type { RecordCheck } from '../db/json-columns.ts'
import { detectSources } from './detect-sources.ts'
import type { DkimKeyRow, Domain } from './domains.ts'
import { readDomainName } from './name.ts'
import { type BoundDomain, hostsOfDomain, type PoolLimits } from './sending-pool.ts'

/** A DNS record that the account owner publishes. */
export interface PublishedRecord {
  record: 'SPF' | 'RETURN_PATH' | 'DKIM' | 'DMARC'
  type: 'TXT' | 'MX' | 'CNAME'
  /** The full name, without the last dot. */
  host: string
  /** The value; for an MX record, its preference and name. Empty while it is unknown. */
  value: string
  /** Whether the domain needs it to be verified. */
  required: boolean
  /** Its key among the checks of the domain: the name of the record, with the selector for a DKIM key. */
  check: string
  /** Why the value is unknown, for the account owner. */
  unknown?: string
}

/** The machines that send and receive for all domains, as the operator names them. */
export interface SendingHosts {
  /**
   * The addresses that other servers see mail come from. When they are unknown, it is empty and no domain is verified.
   */
  sourceAddresses: readonly string[]
  /** For the operator, when the addresses are not configured: how they are known, or why they are not. */
  sourceDetail?: string
  /**
   * The operator's name with SPF and MX for all domains, each of which has a CNAME to it. Without it, each has SPF and
   * MX.
   */
  returnPathHost: string | undefined
  /** The host that receives bounces. */
  bounceHost: string | undefined
  /** Without them no domain has its own pool. */
  limits?: PoolLimits
}

/** The host that receives bounces of domains in a local DNS, outside production. */
const DEVELOPMENT_HOST = 'mail.localhost'

/**
 * The hosts that the operator configured, and what the machine itself tells of the others. A host without a full name
 * cannot be named in other DNS zones.
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
 * The records that a domain publishes: the return path with its SPF (RFC 7208) and the MX of its bounces, or one CNAME
 * to the operator's name with both; its DKIM keys (RFC 6376 3.6.1); and a first DMARC policy (RFC 7489).
 */
export function recordsOf(
  domain: Pick<Domain, 'name' | 'dkimKeys'> & BoundDomain,
  hosts: SendingHosts,
): PublishedRecord[] {
  const { name, dkimKeys } = domain
  return [
    ...returnPathRecords(name, hostsOfDomain(domain, hosts)),
    ...dkimKeys.map((key) => dkimRecord(name, key)),
    dmarcRecord(name),
  ]
}

/** A record, and the result of its last check. */
export interface CheckedRecord extends PublishedRecord {
  status: RecordCheck['status']
  observed: string[]
  error?: string
  checkedAt?: Date
}

/** The records that a domain publishes, each with the result of its last check. */
export function checkedRecords(domain: Domain, hosts: SendingHosts): CheckedRecord[] {
  return recordsOf(domain, hosts).map((record): CheckedRecord => {
    const check = domain.checks?.[record.check]
    if (record.unknown) return { ...record, status: 'pending', observed: [], error: record.unknown }
    if (!check) return { ...record, status: 'pending', observed: [] }
    const { status, observed, error, checked_at } = check
    return { ...record, status, observed, error, checkedAt: new Date(checked_at) }
  })
}

/**
 * The host of bounces, and the name that SPF is checked for. It lies under the domain, so that SPF is aligned with it.
 */
export function returnPathHostOf(name: string): string {
  return `rp.${name}`
}

function returnPathRecords(name: string, hosts: SendingHosts): PublishedRecord[] {
  const host = returnPathHostOf(name)
  const { returnPathHost } = hosts
  if (returnPathHost === undefined) return hostRecords(host, hosts)
  const value = returnPathHost
  return [{ record: 'RETURN_PATH', type: 'CNAME', host, value, required: true, check: 'RETURN_PATH' }]
}

/** The records of a return path host: SPF with the service's addresses, and the MX of bounces. */
export function hostRecords(host: string, { sourceAddresses, bounceHost }: SendingHosts): PublishedRecord[] {
  const sources = sourceAddresses.map((address) => `${isIPv6(address) ? 'ip6' : 'ip4'}:${address}`)
  const spf = { record: 'SPF', type: 'TXT', host, required: true, check: 'SPF' } as const
  const mx = { record: 'RETURN_PATH', type: 'MX', host, required: true, check: 'RETURN_PATH' } as const
  return [
    // An SPF record that permits no sender would be worse than none.
    sources.length > 0
      ? { ...spf, value: ['v=spf1', ...sources, '-all'].join(' ') }
      : { ...spf, value: '', unknown: UNKNOWN_SOURCES },
    bounceHost
      ? { ...mx, value: `10 ${bounceHost}` }
      : { ...mx, value: '', unknown: unknownSetting('the full name of its mail server', 'SMTP_HELO_NAME') },
  ]
}

/** Why an SPF record cannot be checked. */
export const UNKNOWN_SOURCES = unknownSetting('the addresses its mail leaves from', 'SMTP_SOURCE_ADDRESSES')

function unknownSetting(what: string, variable: string): string {
  return `The service does not know ${what} yet: its operator sets ${variable}.`
}

function dkimRecord(name: string, { selector, algorithm, publicKey, state }: DkimKeyRow): PublishedRecord {
  return {
    record: 'DKIM',
    type: 'TXT',
    host: `${selector}._domainkey.${name}`,
    value: dkimValue(algorithm, publicKey),
    required: state === 'active',
    check: `DKIM:${selector}`,
  }
}

function dmarcRecord(name: string): PublishedRecord {
  const value = 'v=DMARC1; p=none'
  return { record: 'DMARC', type: 'TXT', host: `_dmarc.${name}`, value, required: true, check: 'DMARC' }
}

/** The value of a DKIM record. RFC 8463 4: an Ed25519 key is published without the SPKI around its last 32 bytes. */
function dkimValue(algorithm: 'rsa' | 'ed25519', publicKey: Uint8Array): string {
  const bytes = algorithm === 'rsa' ? publicKey : publicKey.slice(-32)
  return `v=DKIM1; k=${algorithm}; p=${Buffer.from(bytes).toString('base64')}`
}

/** One string of a TXT record has at most 255 bytes (RFC 1035 3.3.14): a longer value is written as several. */
export function stringsOf(value: string): string[] {
  return value.match(/.{1,255}/g) ?? []
}

/** The line of a record in a zone file (RFC 1035 5.1). */
export function zoneLine({ host, type, value }: Pick<PublishedRecord, 'host' | 'type' | 'value'>): string {
  const shown =
    type === 'TXT'
      ? stringsOf(value)
          .map((part) => `"${part}"`)
          .join(' ')
      : `${value}.`
  return `${host}.  ${type}  ${shown}`
}
