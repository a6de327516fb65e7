import { createPublicKey } from 'node:crypto'
import type { DomainDns } from './authoritative.ts'
import type { Domain } from './domains.ts'
import { type Finding, failed, missing, unanswered, verified } from './observe.ts'
import type { PublishedRecord } from './records.ts'

/**
 * Whether verifiers find our key at the name in a signature (RFC 6376 3.6.1), or what is wrong. `all` are the domain's
 * records, one of which may have been published in place of another.
 */
export async function checkDkim(
  dns: DomainDns,
  domain: Domain,
  record: PublishedRecord,
  all: readonly PublishedRecord[],
): Promise<Finding> {
  const { host } = record
  const answer = await dns.find(host, 'TXT')
  if (answer.kind === 'unanswered') return unanswered(host, answer)
  if (answer.kind === 'missing') {
    return missing(dns, domain.name, record, answer, (values) => values.some((value) => !faultOf(value, record)))
  }
  const { values } = answer
  const [value = '', ...others] = values
  const fault = others.length > 0 ? severalOf(values, record) : faultOf(value, record, all)
  return fault === undefined ? verified(values) : failed(values, fault)
}

/** RFC 6376 3.6.2.2: with several records, a verifier may take any. */
function severalOf(values: string[], record: PublishedRecord): string {
  const isSplit = [values, values.toReversed()].some((parts) => !faultOf(parts.join(''), record))
  return isSplit
    ? `The value is split over ${values.length} TXT records. Make it one record, of several strings where one is too long.`
    : `There are ${values.length} TXT records at ${record.host}, and a verifier takes any of them. Leave only the one with this value.`
}

/**
 * The fault of a value in place of a key record, as a sentence; undefined when it works as well as the record's own
 * value.
 */
export function faultOf(
  value: string,
  record: PublishedRecord,
  all: readonly PublishedRecord[] = [],
): string | undefined {
  if (/["\\]/.test(value)) return 'The value has quotation marks or backslashes in it. Enter it without them.'
  const tags = readTags(value)
  const key = tags?.get('p')
  if (!tags || key === undefined) return 'What stands there is no DKIM key. Put this value in its place.'
  const algorithm = tagOf(record, 'k')
  const rule = RULES.find(({ tag, isRight }) => !isRight(tags.get(tag), algorithm))
  if (rule) return rule.fault(algorithm)
  return tags.has('v') && tags.keys().next().value !== 'v' ? VERSION : keyFaultOf(key, record, all)
}

interface Rule {
  tag: string
  /** `value` is undefined where the tag is absent. */
  isRight(value: string | undefined, algorithm: string): boolean
  fault(algorithm: string): string
}

const VERSION = 'The value has to begin with v=DKIM1.'

const has = (list: string, ...wanted: string[]) => list.split(':').some((word) => wanted.includes(word))

/** The tags of a record (RFC 6376 3.6.1). */
const RULES: Rule[] = [
  { tag: 'v', isRight: (value = 'DKIM1') => value === 'DKIM1', fault: () => VERSION },
  {
    tag: 'k',
    isRight: (value = 'rsa', algorithm) => value === algorithm,
    fault: (algorithm) => `The record is for another kind of key: it has to say k=${algorithm}.`,
  },
  {
    tag: 'h',
    isRight: (value = 'sha256') => has(value, 'sha256'),
    fault: () => 'The tag h= does not allow sha256. Remove it.',
  },
  {
    tag: 's',
    isRight: (value = '*') => has(value, '*', 'email'),
    fault: () => 'The tag s= says that the key is not for email. Remove it.',
  },
  {
    tag: 't',
    isRight: (value = '') => !has(value, 'y'),
    fault: () => 'The tag t=y says that DKIM is only being tested, and then signatures count for nothing. Remove it.',
  },
]

function keyFaultOf(text: string, record: PublishedRecord, all: readonly PublishedRecord[]): string | undefined {
  if (text === '') return 'The record says that the key is revoked (p= is empty). Put this value in its place.'
  const ours = tagOf(record, 'p')
  // A key has only one text form without white space.
  if (text === ours) return undefined
  const other = all.find((each) => each.record === 'DKIM' && text === tagOf(each, 'p'))
  if (other) return `This is the key that belongs to ${other.host}. Were the two confused?`
  if (ours.startsWith(text)) return `The key is cut off after ${text.length} of its ${ours.length} characters.`
  const bits = bitsOf(Buffer.from(text, 'base64'))
  return bits === undefined
    ? 'The key in p= cannot be read: it was changed on its way. Put this value in its place.'
    : `The record has another key, of ${bits} bits. Put this value in its place.`
}

function bitsOf(der: Buffer): number | undefined {
  try {
    return createPublicKey({ key: der, format: 'der', type: 'spki' }).asymmetricKeyDetails?.modulusLength
  } catch {
    return undefined
  }
}

const tagOf = ({ value }: PublishedRecord, tag: string) => readTags(value)?.get(tag) ?? ''

/**
 * The list of tags (RFC 6376 3.2), without white space in values. Returns undefined when it is no such list, or a tag
 * repeats.
 */
function readTags(value: string): Map<string, string> | undefined {
  const tags = new Map<string, string>()
  for (const part of value.replace(/;\s*$/, '').split(';')) {
    const [, name, text = ''] = /^\s*([A-Za-z][A-Za-z0-9_]*)\s*=([^;]*)$/.exec(part) ?? []
    if (name === undefined || tags.has(name)) return undefined
    tags.set(name, text.replace(/\s+/g, ''))
  }
  return tags
}
