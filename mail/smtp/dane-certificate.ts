import { createHash, type KeyObject, X509Certificate } from 'node:crypto'
import type { TLSSocket } from 'node:tls'
import type { TlsaRecord } from '../dns/dns-message.ts'
import type { DanePolicy } from './dane.ts'
import { extensionsOf, publicKeyInfo, sequence } from './der.ts'
import { certificateIn, DANE_EE, DANE_TA, FULL, keyIn, SPKI } from './tlsa.ts'

// Whether a server's certificates are those that its TLSA records name (RFC 7671 5, RFC 7672 3). Node has no DANE.

const DIGESTS: Record<number, string> = { 1: 'sha256', 2: 'sha512' }

/** The longest path from the certificate to its trust anchor. */
const MAX_PATH = 8
const SERVER_AUTH = ['1.3.6.1.5.5.7.3.1', '2.5.29.37.0']
const BASIC_CONSTRAINTS = '551d13'
const NAME_CONSTRAINTS = '551d1e'
/** Key usage, alternative names, basic constraints, policies and extended key usage: checked, or in no need of it. */
const KNOWN_EXTENSIONS = ['551d0f', '551d11', BASIC_CONSTRAINTS, '551d20', '551d25']

/** The server's certificate and its issuers. It has sent them all, but for a last one that this machine trusts. */
export function certificatesOf(socket: TLSSocket): X509Certificate[] {
  const certificates: X509Certificate[] = []
  let next = socket.getPeerCertificate(true)
  // A certificate that issued itself is its own issuer.
  while (next?.raw && !certificates.some(({ raw }) => raw.equals(next.raw))) {
    certificates.push(new X509Certificate(next.raw))
    next = next.issuerCertificate
  }
  return certificates
}

/** Why none of the records names the certificates; undefined when one does. */
export function daneFlaw(chain: readonly X509Certificate[], policy: DanePolicy, now: Date): string | undefined {
  const [own, ...others] = chain
  if (!own) return 'the server has no certificate'
  // DANE-EE: the record alone decides. Names and times of the certificate mean nothing (RFC 7671 5.1).
  const isNamed = policy.records.some((record) => record.usage === DANE_EE && matches(record, own))
  if (isNamed) return undefined
  const anchors = policy.records.filter(({ usage }) => usage === DANE_TA)
  if (anchors.length === 0) return 'no TLSA record matches the certificate'
  const flaw = pathFlaw(own, [...others, ...anchors.flatMap(certificateIn)], anchors, now)
  if (flaw) return flaw
  if (own.keyUsage && !own.keyUsage.some((usage) => SERVER_AUTH.includes(usage))) return 'it is not for servers'
  const isForHost = policy.names.some((name) => own.checkHost(name, { partialWildcards: false }) !== undefined)
  return isForHost ? undefined : `the certificate is for none of ${policy.names.join(', ')}`
}

/** Follows the issuers up to a trust anchor. */
function pathFlaw(
  own: X509Certificate,
  candidates: readonly X509Certificate[],
  anchors: readonly TlsaRecord[],
  now: Date,
): string | undefined {
  const keys = anchors.flatMap(keyIn)
  let current = own
  for (let above = 0; above < MAX_PATH; above++) {
    const flaw = certificateFlaw(current, above, now)
    if (flaw) return flaw
    if (above > 0 && anchors.some((anchor) => matches(anchor, current))) return undefined
    if (keys.some((key) => isSignedBy(current, key))) return undefined
    const issuer = candidates.find((candidate) => candidate !== current && isIssuedBy(current, candidate))
    if (!issuer) return 'no TLSA record matches an issuer of the certificate'
    current = issuer
  }
  return 'the path to the trust anchor is too long'
}

export const ISSUER_EXPIRED = 'an issuer of the certificate has expired'

/** @param above how many certificates of the path are below this one */
function certificateFlaw(certificate: X509Certificate, above: number, now: Date): string | undefined {
  if (certificate.validToDate < now) return above === 0 ? 'CERT_HAS_EXPIRED' : ISSUER_EXPIRED
  if (certificate.validFromDate > now) return 'CERT_NOT_YET_VALID'
  for (const { id, isCritical, value } of extensionsOf(certificate.raw)) {
    if (id === NAME_CONSTRAINTS || (isCritical && !KNOWN_EXTENSIONS.includes(id)))
      return 'a certificate of the path has an extension that is not supported'
    if (id === BASIC_CONSTRAINTS && above > 1 + pathLength(value))
      return 'an issuer of the certificate may not issue such a path'
  }
  return undefined
}

/** How many issuers may be between this one and a certificate (RFC 5280 4.2.1.9). */
function pathLength(basicConstraints: Buffer): number {
  const INTEGER = 0x02
  const length = sequence(basicConstraints).find(({ tag }) => tag === INTEGER)
  return length ? Number(BigInt(`0x${length.contents.toString('hex')}`)) : Number.POSITIVE_INFINITY
}

const isIssuedBy = (certificate: X509Certificate, issuer: X509Certificate) =>
  issuer.ca && certificate.checkIssued(issuer) && isSignedBy(certificate, issuer.publicKey)

function isSignedBy(certificate: X509Certificate, key: KeyObject): boolean {
  try {
    return certificate.verify(key)
  } catch {
    // A key of another kind.
    return false
  }
}

function matches({ selector, matching, data }: TlsaRecord, { raw }: X509Certificate): boolean {
  const octets = selector === SPKI ? publicKeyInfo(raw) : raw
  const found = matching === FULL ? octets : createHash(DIGESTS[matching]!).update(octets).digest()
  return found.toString('hex') === data
}
