import { DomainStatus, RecordStatus } from '../../gen/verdict/v1/domains_pb.ts'
import { SendingState } from '../../gen/verdict/v1/stats_pb.ts'
import type { Tone } from '../status/statuses.ts'

interface Shown {
  tone: Tone
  word: string
  /** What it means for mail, and what to do. */
  sentence: string
}

/** How each state of a domain is shown. */
export const DOMAIN_STATES: Record<DomainStatus, Shown> = {
  [DomainStatus.UNSPECIFIED]: { tone: 'neutral', word: 'Unknown', sentence: '' },
  [DomainStatus.PENDING]: {
    tone: 'waiting',
    word: 'Waiting for DNS',
    sentence:
      'Publish the records below at your DNS provider. DNS is checked by itself, and sends are rejected until then.',
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
      'The records were not found within 14 days, so DNS is no longer checked by itself. Publish them, then check.',
  },
  [DomainStatus.LAPSED]: {
    tone: 'error',
    word: 'Lapsed',
    sentence: 'The records were missing or wrong for three days. Sends are rejected until they are found again.',
  },
}

/** How each state of a record is shown. */
export const RECORD_STATES: Record<RecordStatus, Omit<Shown, 'sentence'>> = {
  [RecordStatus.UNSPECIFIED]: { tone: 'neutral', word: 'Unknown' },
  [RecordStatus.PENDING]: { tone: 'waiting', word: 'Not checked yet' },
  [RecordStatus.VERIFIED]: { tone: 'delivered', word: 'Found' },
  [RecordStatus.FAILED]: { tone: 'error', word: 'Missing or wrong' },
}

/** What the circuit breaker does to a domain's mail. An active domain needs no words. */
export const BREAKER_STATES: Partial<Record<SendingState, Shown>> = {
  [SendingState.THROTTLED]: {
    tone: 'bounced',
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

/**
 * A record's host as most DNS providers want it: without the domain at its end, and `@` for the domain itself. Undefined
 * for a host outside of the domain.
 */
export function relativeHost(host: string, domain: string): string | undefined {
  if (host === domain) return '@'
  return host.endsWith(`.${domain}`) ? host.slice(0, -domain.length - 1) : undefined
}
