import { createHash, X509Certificate } from 'node:crypto'
import { expect, test } from 'vitest'
import type { DanePolicy } from '../../../mail/smtp/dane.ts'
import { daneFlaw } from '../../../mail/smtp/dane-certificate.ts'
import { ISSUER, LEAF, ROOTS } from '../../harness/certificate-path.ts'

// DANE-TA: each certificate up to the trust anchor must be one that RFC 5280 allows at its place (RFC 7671 5.2).

const NOW = new Date('2026-12-01T00:00:00Z')
const certificates = (...pems: string[]) => pems.map((pem) => new X509Certificate(pem))
const policyOf = (root: string, names = ['mx1.example.test']): DanePolicy => {
  const data = createHash('sha256').update(new X509Certificate(root).raw).digest('hex')
  return { records: [{ usage: 2, selector: 0, matching: 1, data }], baseDomain: 'mx1.example.test', names }
}
const flawOf = (root: string, { now = NOW, names }: { now?: Date; names?: string[] } = {}) =>
  daneFlaw(certificates(LEAF, ISSUER, root), policyOf(root, names), now)

test.each<[keyof typeof ROOTS, string | undefined]>([
  ['unlimited', undefined],
  ['oneIssuerBelow', undefined],
  ['noIssuerBelow', 'an issuer of the certificate may not issue such a path'],
  ['nameConstraints', 'a certificate of the path has an extension that is not supported'],
  ['noAuthority', 'no TLSA record matches an issuer of the certificate'],
  ['tenYears', undefined],
])('a path that ends in a trust anchor with %s: %s', (name, flaw) => {
  expect(flawOf(ROOTS[name])).toBe(flaw)
})

test('a certificate is good from the second of its beginning to the second of its end, and for its names only', () => {
  const [leaf] = certificates(LEAF)
  const around = (date: Date, ms: number) => new Date(date.getTime() + ms)
  const atStart = {
    now: new Date(Math.max(...certificates(LEAF, ISSUER, ROOTS.unlimited).map((c) => +c.validFromDate))),
  }
  expect(flawOf(ROOTS.unlimited, atStart)).toBeUndefined()
  expect(flawOf(ROOTS.unlimited, { now: around(atStart.now, -1_000) })).toBe('CERT_NOT_YET_VALID')
  expect(flawOf(ROOTS.unlimited, { now: around(leaf!.validToDate, 1_000) })).toBe('CERT_HAS_EXPIRED')
  expect(flawOf(ROOTS.tenYears, { now: new Date('2040-01-01') })).toBe('an issuer of the certificate has expired')
  expect(flawOf(ROOTS.unlimited, { names: ['mx2.example.test'] })).toBe(
    'the certificate is for none of mx2.example.test',
  )
})

test('a server without certificates, and a path that stops before the anchor, prove nothing', () => {
  const policy = policyOf(ROOTS.unlimited)
  expect(daneFlaw([], policy, NOW)).toBe('the server has no certificate')
  const flaw = daneFlaw(certificates(LEAF, ROOTS.unlimited), policy, NOW)
  expect(flaw).toBe('no TLSA record matches an issuer of the certificate')
})
