import { createPublicKey, type KeyObject, X509Certificate } from 'node:crypto'
import type { TlsaRecord } from '../dns/dns-message.ts'

// The fields of TLSA records (RFC 6698 2.1, with the names of RFC 7218).

export const DANE_TA = 2
export const DANE_EE = 3
export const SPKI = 1
export const FULL = 0
/** Octets of SHA-256 and SHA-512. */
const DIGEST_OCTETS: Record<number, number> = { 1: 32, 2: 64 }

/**
 * The records that SMTP can use. Usages 0 and 1 are none, because they need a list of authorities that both sides trust
 * (RFC 7672 3.1.3). Of two digests of one certificate only the stronger counts (RFC 7671 9).
 */
export function usableRecords(records: readonly TlsaRecord[]): TlsaRecord[] {
  const known = records.filter((record) => {
    const { usage, selector, matching, data } = record
    if ((usage !== DANE_TA && usage !== DANE_EE) || selector > SPKI || matching > 2) return false
    const octets = DIGEST_OCTETS[matching]
    if (octets !== undefined) return data.length === octets * 2
    return certificateIn(record).length + keyIn(record).length > 0
  })
  const hasStronger = ({ usage, selector }: TlsaRecord) =>
    known.some((other) => other.usage === usage && other.selector === selector && other.matching === 2)
  return known.filter((record) => record.matching !== 1 || !hasStronger(record))
}

/** The certificate that a record holds whole. A server need not send such a trust anchor (RFC 7671 5.2.2). */
export function certificateIn({ selector, matching, data }: TlsaRecord): X509Certificate[] {
  if (matching !== FULL || selector === SPKI) return []
  try {
    return [new X509Certificate(Buffer.from(data, 'hex'))]
  } catch {
    return []
  }
}

/** The bare key that a record holds whole (RFC 7671 5.2.3). */
export function keyIn({ selector, matching, data }: TlsaRecord): KeyObject[] {
  if (matching !== FULL || selector !== SPKI) return []
  try {
    return [createPublicKey({ key: Buffer.from(data, 'hex'), format: 'der', type: 'spki' })]
  } catch {
    return []
  }
}
