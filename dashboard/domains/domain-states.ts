import { type Domain, type DomainRecord, DomainStatus, RecordStatus } from '../../gen/verdict/v1/domains_pb.ts'
import { SendingState } from '../../gen/verdict/v1/stats_pb.ts'
import { shownIn } from '../status/shown-in.ts'
import type { ShownState } from '../status/statuses.ts'

interface ExplainedState extends ShownState {
  /** What it means for mail, and what to do. */
  sentence: string
}

/** How each state of a domain is shown. */
export const DOMAIN_STATES: Record<DomainStatus, ExplainedState> = {
  [DomainStatus.UNSPECIFIED]: { tone: 'neutral', word: 'Unknown', sentence: '' },
  [DomainStatus.PENDING]: {
    tone: 'waiting',
    word: 'Waiting for DNS',
    sentence:
      'Publish the records below at your DNS provider. DNS is then checked automatically. Until all are found, sends are rejected.',
  },
  [DomainStatus.VERIFIED]: {
    tone: 'delivered',
    word: 'Verified',
    sentence: 'You can send from this domain. Its records are checked again every day.',
  },
  [DomainStatus.FAILED]: {
    tone: 'error',
    word: 'Not found',
    sentence:
      'The records were not found within 14 days, so DNS is no longer checked automatically. Publish them, then check.',
  },
  [DomainStatus.LAPSED]: {
    tone: 'error',
    word: 'Lapsed',
    sentence: 'The records were missing or wrong for three days. Sends are rejected until they are found again.',
  },
}

/** A domain that the operator vouches for is verified without a check of its records. */
export const isVouchedForByOperator = ({ status, records }: Pick<Domain, 'status' | 'records'>) =>
  status === DomainStatus.VERIFIED && !records.some(({ lastCheckedAt }) => lastCheckedAt)

/** How a domain is shown. */
export const shownDomain = (domain: Domain): ExplainedState =>
  isVouchedForByOperator(domain)
    ? {
        ...shownIn(DOMAIN_STATES, domain.status),
        sentence: 'You can send from this domain: the operator of this installation vouches for it.',
      }
    : shownIn(DOMAIN_STATES, domain.status)

/** How each state of a record is shown. */
export const RECORD_STATES: Record<RecordStatus, ShownState> = {
  [RecordStatus.UNSPECIFIED]: { tone: 'neutral', word: 'Unknown' },
  [RecordStatus.PENDING]: { tone: 'waiting', word: 'Not checked yet' },
  [RecordStatus.VERIFIED]: { tone: 'delivered', word: 'Found' },
  [RecordStatus.FAILED]: { tone: 'error', word: 'Missing or wrong' },
}

/** A record that a new domain does not have yet is no fault: its owner is about to create it. */
export function stateOfRecord(
  { status, observed }: Pick<DomainRecord, 'status' | 'observed'>,
  domain: Pick<Domain, 'status' | 'records'>,
) {
  if (isVouchedForByOperator(domain)) return { tone: 'neutral', word: 'Not needed' } as const
  const isAwaited = domain.status === DomainStatus.PENDING && status === RecordStatus.FAILED && observed.length === 0
  return isAwaited ? ({ tone: 'waiting', word: 'Not there yet' } as const) : shownIn(RECORD_STATES, status)
}

/** What the circuit breaker does to a domain's mail. An active domain needs no words. */
export const BREAKER_WORDS: Partial<Record<SendingState, ExplainedState>> = {
  [SendingState.THROTTLED]: {
    tone: 'warning',
    word: 'At risk',
    sentence:
      'Too many emails bounce or lead to complaints, or sending was paused a short time ago. Remove addresses that bounce from your lists before the domain is paused.',
  },
  [SendingState.PAUSED]: {
    tone: 'error',
    word: 'Paused',
    sentence:
      'At least 10 % of the emails of the last 24 hours went to mailboxes that do not exist, or 0.5 % led to complaints. Sends are refused and resume slowly an hour after the pause began.',
  },
}

/** What each record is for. */
export const RECORD_PURPOSES: Record<string, string> = {
  SPF: 'Says which addresses may send for the domain.',
  RETURN_PATH: 'Says where bounces go.',
  DKIM: 'Holds the key that verifies our signatures.',
  DMARC: 'Says what receivers do with mail that fails both checks.',
}

export interface NameInZone {
  zone: string
  /** The host without the zone at its end, and `@` for the zone itself. */
  name: string
}

/** Zones in which no account has its own records: `co.uk`, `com.au`. */
const REGISTRY_ZONE = /^(ac|co|com|edu|gov|ne|net|or|org)\.[a-z]{2}$/

/**
 * A record's host as most DNS providers want it: in a zone of the domain itself, and in the zone one label above, where
 * the records of a subdomain usually are. Only the account owner knows which of the two zones exists.
 */
export function namesInZones(host: string, domain: string): NameInZone[] {
  const parent = domain.slice(domain.indexOf('.') + 1)
  const zones = parent.includes('.') && !REGISTRY_ZONE.test(parent) ? [domain, parent] : [domain]
  return zones.flatMap((zone) => {
    if (host === zone) return [{ zone, name: '@' }]
    return host.endsWith(`.${zone}`) ? [{ zone, name: host.slice(0, -zone.length - 1) }] : []
  })
}

/** Loopback and private addresses (RFC 1918, RFC 3927, RFC 4193), and the name of this machine. */
const LOCAL_ADDRESS =
  /(?<![\d.])(?:127|10|192\.168|169\.254|172\.(?:1[6-9]|2\d|3[01]))(?:\.\d+){2,3}(?![\d.])|\bip6:(?:::1(?![\da-f:])|f[cd][\da-f]{2}:|fe80:)|\blocalhost\b/i

/** Whether a record names an address that no receiver can reach. */
export const isLocal = (records: Pick<DomainRecord, 'value'>[]) =>
  records.some(({ value }) => LOCAL_ADDRESS.test(value))
