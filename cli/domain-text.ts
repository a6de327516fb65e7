import { cleanText } from '../net/clean-text.ts'
import { publicId } from '../server/db/ids.ts'
import { bitsOf } from '../server/domains/dkim-key.ts'
import type { Domain } from '../server/domains/domains.ts'
import {
  type CheckedRecord,
  checkedRecords,
  hostRecords,
  type SendingHosts,
  sendingHosts,
  zoneLine,
} from '../server/domains/records.ts'
import { hostsOfAllDomains } from '../server/domains/sending-pool.ts'
import { CliError } from './command.ts'
import { variables } from './environment.ts'
import { shortTime, table } from './table.ts'

// Domains and their records as text and as JSON.

/** The hosts that send and receive mail for this service, from the environment. */
export function hosts(): SendingHosts {
  const {
    tiers: limits,
    defaultTier,
    ...config
  } = variables(
    'production',
    'smtpSourceAddresses',
    'smtpPublicAddresses',
    'returnPathHost',
    'smtpHeloName',
    'tiers',
    'defaultTier',
  )
  return { ...sendingHosts(config), limits: { ...limits, defaultTier } }
}

/** What is printed of a domain, from the database or from the API. */
export interface DomainFacts {
  name: string
  status: string
  verifiedAt?: Date | null
  /** Absent for a domain that takes the pool of its account's tier. */
  pool?: string | null
  records: Omit<CheckedRecord, 'check'>[]
  keys: { selector: string; state: string; retiresAt?: Date | null }[]
}

export function domainFacts(domain: Domain): DomainFacts {
  const { name, status, verifiedAt, pool, dkimKeys: keys } = domain
  return { name, status, verifiedAt, pool, records: recordsOf(domain), keys }
}

function recordsOf(domain: Domain): CheckedRecord[] {
  return checkedRecords(domain, hosts())
}

/** Printed after a domain is added: the records to publish and the next step. */
export function instructions({ name, status, records }: DomainFacts, more: string[] = []): string {
  const lines = records.filter(({ unknown }) => !unknown).map((record) => `  ${zoneLine(record)}\n`)
  const unknown = records.flatMap(({ unknown, record }) => (unknown ? [`${record}: ${unknown}\n`] : []))
  const next =
    status === 'verified'
      ? `${name} may send.`
      : `Then: verdict domains verify ${name}\nDNS is also checked automatically while a worker runs.`
  return [`${name} is ${status}. Its DNS records:\n`, ...lines, ...unknown, ...more, next].join('\n')
}

/** The operator publishes the target of every domain's CNAME once. */
export function operatorRecords(): string[] {
  const { returnPathHost, ...more } = hostsOfAllDomains(hosts())
  if (returnPathHost === undefined) return []
  const records = hostRecords(returnPathHost, { returnPathHost, ...more })
  const lines = records.map((record) => (record.unknown ? `  ${record.unknown}` : `  ${zoneLine(record)}`))
  return [`You publish once, for all domains:\n\n${lines.join('\n\n')}\n`]
}

/** Printed after a rotation: the record of the next key and the next step. */
export function rotation({ name, records, keys }: DomainFacts): string {
  const key = keys.find(({ state }) => state === 'next')
  const record = records.find(({ host }) => key && host.startsWith(`${key.selector}._domainkey.`))
  if (!record) throw new CliError('failed', `The service named no record of the next key of ${name}.`)
  const next = `Leave the records of the other keys in place. Then: verdict domains verify ${name}`
  return `Publish the next key of ${name}:\n\n  ${zoneLine(record)}\n\n${next}`
}

/** The records with what DNS had at the last check. */
export function report({ name, status, pool, records, keys: all }: DomainFacts): string {
  const keys = all.map(({ selector, state, retiresAt }) => {
    return `  ${selector} is ${state}${retiresAt ? `, remove its record after ${shortTime(retiresAt)}` : ''}`
  })
  const head = `${name} is ${status}.${pool ? ` It sends from the pool ${pool}.` : ''}`
  const parts = [head, ...records.map(describeRecord), `DKIM keys:\n${keys.join('\n')}`]
  return parts.join('\n\n')
}

function describeRecord(record: DomainFacts['records'][number]): string {
  const { status, required, observed, error, checkedAt } = record
  const lines = [
    `${record.record}: ${status}${required ? '' : ', not required'}`,
    record.unknown ? undefined : zoneLine(record),
    ...observed.map((value) => `observed: ${JSON.stringify(value)}`),
    error,
    checkedAt && `checked at ${shortTime(checkedAt)}`,
  ]
  // Checks stored by older versions hold text from DNS as it came.
  return lines.flatMap((line) => (line === undefined ? [] : [cleanText(line)])).join('\n  ')
}

/** One line for each domain. */
export function listText(domains: DomainFacts[]): string {
  const rows = domains.map(({ name, status, verifiedAt, keys }) => {
    const selectors = keys.map(({ selector, state }) => (state === 'active' ? selector : `${selector} (${state})`))
    return [name, status, shortTime(verifiedAt ?? null), selectors.join(', ')]
  })
  return table(['DOMAIN', 'STATUS', 'VERIFIED', 'DKIM SELECTORS'], rows, 'The account has no domain.')
}

/** A domain of the database as JSON. */
export function view(domain: Domain) {
  return {
    domain_id: publicId('dom', domain.id),
    domain: domain.name,
    status: domain.status,
    records: recordsOf(domain).map(({ check: _, unknown: __, checkedAt, ...record }) => {
      return { ...record, last_checked_at: checkedAt }
    }),
    dkim_keys: domain.dkimKeys.map((key) => {
      return { selector: key.selector, state: key.state, key_bits: bitsOf(key), retires_at: key.retiresAt }
    }),
    require_tls: domain.requiresTls,
    pool: domain.pool ?? undefined,
    created_at: domain.createdAt,
    verified_at: domain.verifiedAt,
  }
}
