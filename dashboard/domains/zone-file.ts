import type { DomainRecord } from '../../gen/verdict/v1/domains_pb.ts'

const TTL_SECONDS = 3_600

/** The records as lines of a zone file (RFC 1035, section 5), which most DNS providers import. */
export function zoneFileOf(records: Pick<DomainRecord, 'type' | 'host' | 'value' | 'strings'>[]): string {
  const known = records.filter(({ value }) => value !== '')
  return known.map((record) => `${record.host}. ${TTL_SECONDS} IN ${record.type} ${dataOf(record)}\n`).join('')
}

/** A name in a value is whole, which a dot at its end says. */
function dataOf({ type, value, strings }: Pick<DomainRecord, 'type' | 'value' | 'strings'>): string {
  if (type !== 'TXT') return `${value}.`
  return (strings.length > 0 ? strings : [value]).map(quoted).join(' ')
}

const quoted = (text: string) => `"${text.replaceAll(/["\\]/g, '\\$&')}"`
