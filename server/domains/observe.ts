import { escapeOctets } from '../../mail/dns/dns-message.ts'
import { cleanText } from '../../net/clean-text.ts'
import type { RecordCheck } from '../db/json-columns.ts'
import type { DomainAnswer, DomainDns } from './authoritative.ts'
import type { PublishedRecord } from './records.ts'

/** The result of a check of one record. */
export type Finding = Omit<RecordCheck, 'checked_at'>

type Missing = Extract<DomainAnswer, { kind: 'missing' }>
type Unanswered = Extract<DomainAnswer, { kind: 'unanswered' }>

const MAX_OBSERVED = 10
const MAX_CHARACTERS = 512

export function verified(observed: readonly string[]): Finding {
  return { status: 'verified', observed: shown(observed) }
}

/** `error` says what to do about it. */
export function failed(observed: readonly string[], error: string): Finding {
  return { status: 'failed', observed: shown(observed), error: cleanText(error) }
}

/** Differs from `missing`: whether the record exists is unknown. */
export function unanswered(host: string, { cause }: Unanswered): Finding {
  const error = `The DNS servers of ${host} did not answer (${cause}), so nothing is known of this record. They are asked again.`
  return { status: 'pending', observed: [], error: cleanText(error) }
}

/** For what DNS says while it denies other domains, too. */
export function unproven(): Finding {
  const error = 'DNS finds no other domains now, so nothing is known of this record. It is asked again.'
  return { status: 'pending', observed: [], error }
}

/**
 * Explains why a record is missing. Many DNS panels append the domain automatically, so a record whose full name was
 * entered is at `host.domain`. `isIt` recognises the record by its values.
 */
export async function missing(
  dns: DomainDns,
  domain: string,
  { host, type }: Pick<PublishedRecord, 'host' | 'type'>,
  { aliases, circular }: Pick<Missing, 'aliases' | 'circular'>,
  isIt: (values: string[], aliases: string[]) => boolean,
): Promise<Finding> {
  const observed = aliases.map((name) => `CNAME ${name}`)
  if (circular) return failed(observed, `The aliases (CNAME) that begin at ${host} never end. Remove them.`)
  if (type !== 'CNAME' && aliases.length > 0) {
    return failed(observed, `${host} is an alias (CNAME) of ${aliases.at(-1)}, where there is no ${type} record.`)
  }
  const zone = (await dns.zone()) ?? domain
  for (const appended of new Set([domain, zone])) {
    const answer = await dns.find(`${host}.${appended}`, type === 'CNAME' ? 'MX' : type)
    if (answer.kind === 'unanswered' || !isIt(answer.kind === 'records' ? answer.values : [], answer.aliases)) continue
    return failed(
      [],
      `The record stands at ${host}.${appended}: its name ends with the domain twice, because many DNS panels append the domain by themselves. Enter the name as ${host.slice(0, -appended.length - 1)}.`,
    )
  }
  return failed(observed, `There is no ${type} record at ${host}. Add it.`)
}

/** The values as a zone file shows octets other than printable ASCII (RFC 1035 5.1), cut to what a person reads. */
function shown(values: readonly string[]): string[] {
  return values.slice(0, MAX_OBSERVED).map((value) => {
    const start = value.slice(0, MAX_CHARACTERS)
    const safe = escapeOctets(start)
    return safe.length < value.length || safe.length > MAX_CHARACTERS ? `${safe.slice(0, MAX_CHARACTERS - 3)}...` : safe
  })
}
