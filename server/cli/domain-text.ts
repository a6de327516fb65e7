import { cleanText } from '../clean-text.ts'
import { showId } from '../db/ids.ts'
import { bitsOf } from '../domains/dkim-key.ts'
import type { Domain } from '../domains/domains.ts'
import {
  type CheckedRecord,
  checkedRecords,
  hostRecords,
  type SendingHosts,
  sendingHosts,
  zoneLine,
} from '../domains/records.ts'
import { variables } from './surroundings.ts'
import { moment, table } from './table.ts'

// How domains and their records are printed.

/** The machines of this set-up, as the environment names them. */
export function hosts(): SendingHosts {
  return sendingHosts(
    variables('production', 'smtpSourceAddresses', 'smtpPublicAddresses', 'returnPathHost', 'smtpHeloName'),
  )
}

/** A domain as it is printed, wherever it was read. */
export interface ShownDomain {
  name: string
  status: string
  verifiedAt?: Date | null
  records: Omit<CheckedRecord, 'check'>[]
  keys: { selector: string; state: string; retiresAt?: Date | null }[]
}

export function shown(domain: Domain): ShownDomain {
  const { name, status, verifiedAt, dkimKeys: keys } = domain
  return { name, status, verifiedAt, records: recordsOf(domain), keys }
}

function recordsOf(domain: Domain): CheckedRecord[] {
  return checkedRecords(domain, hosts())
}

/** What to do after a domain was added. */
export function instructions({ name, status, records }: ShownDomain, more: string[] = []): string {
  const known = records.filter(({ unknown }) => !unknown).map((record) => `  ${zoneLine(record)}\n`)
  const unknown = records.flatMap(({ unknown, record }) => (unknown ? [`${record}: ${unknown}\n`] : []))
  const next =
    status === 'verified'
      ? `${name} may send.`
      : `Then: verdict domains verify ${name}\nDNS is also checked automatically while a worker runs.`
  return [`${name} is ${status}. Its DNS records:\n`, ...known, ...unknown, ...more, next].join('\n')
}

/** What the CNAME of every domain leads to is published once, by the operator. */
export function operatorsOwn(): string[] {
  const { returnPathHost, ...more } = hosts()
  if (returnPathHost === undefined) return []
  const records = hostRecords(returnPathHost, { returnPathHost, ...more })
  const lines = records.map((record) => (record.unknown ? `  ${record.unknown}` : `  ${zoneLine(record)}`))
  return [`You publish once, for all domains:\n\n${lines.join('\n\n')}\n`]
}

/** What to do after a rotation. */
export function rotation({ name, records, keys }: ShownDomain): string {
  const { selector } = keys.find(({ state }) => state === 'next')!
  const record = records.find(({ host }) => host.startsWith(`${selector}._domainkey.`))!
  const next = `Leave the records of the other keys in place. Then: verdict domains verify ${name}`
  return `Publish the next key of ${name}:\n\n  ${zoneLine(record)}\n\n${next}`
}

/** What DNS had at the last check. */
export function report({ name, status, records, keys: all }: ShownDomain): string {
  const keys = all.map(({ selector, state, retiresAt }) => {
    return `  ${selector} is ${state}${retiresAt ? `, its record may go at ${moment(retiresAt)}` : ''}`
  })
  const parts = [`${name} is ${status}.`, ...records.map(described), `DKIM keys:\n${keys.join('\n')}`]
  return parts.join('\n\n')
}

function described(record: ShownDomain['records'][number]): string {
  const { status, required, observed, error, checkedAt } = record
  const lines = [
    `${record.record}: ${status}${required ? '' : ', not required'}`,
    record.unknown ? undefined : zoneLine(record),
    ...observed.map((value) => `observed: ${JSON.stringify(value)}`),
    error,
    checkedAt && `checked at ${moment(checkedAt)}`,
  ]
  // Older checks were stored as DNS told them.
  return lines.flatMap((line) => (line === undefined ? [] : [cleanText(line)])).join('\n  ')
}

/** One line for each domain. */
export function listed(domains: ShownDomain[]): string {
  const rows = domains.map(({ name, status, verifiedAt, keys }) => {
    const selectors = keys.map(({ selector, state }) => (state === 'active' ? selector : `${selector} (${state})`))
    return [name, status, moment(verifiedAt ?? null), selectors.join(', ')]
  })
  return table(['DOMAIN', 'STATUS', 'VERIFIED', 'DKIM SELECTORS'], rows, 'The account has no domain.')
}

/** As `--json` prints it. */
export function view(domain: Domain) {
  return {
    domain_id: showId('dom', domain.id),
    domain: domain.name,
    status: domain.status,
    records: recordsOf(domain).map(({ check: _, unknown: __, checkedAt, ...record }) => {
      return { ...record, last_checked_at: checkedAt }
    }),
    dkim_keys: domain.dkimKeys.map((key) => {
      return { selector: key.selector, state: key.state, key_bits: bitsOf(key), retires_at: key.retiresAt }
    }),
    require_tls: domain.requiresTls,
    created_at: domain.createdAt,
    verified_at: domain.verifiedAt,
  }
}
