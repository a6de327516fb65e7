import { createHash, X509Certificate } from 'node:crypto'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import fc from 'fast-check'
import { beforeAll, expect, test } from 'vitest'
import { demandTls } from '../../../mail/smtp/tls.ts'
import {
  AUTHORITY,
  CERTIFICATE,
  EXPIRED_CERTIFICATE,
  FUTURE_CERTIFICATE,
  POLICY_AUTHORITY,
  RECEIVER_CERTIFICATE,
  SECOND_CERTIFICATE,
} from '../../harness/certificates.ts'
import { engineWith, exchangerWith, OFFER, outcomeOf, send, siteOf } from './deliver.ts'

// A certificate is judged by its dates only while our clock is right.

beforeAll(() => {
  const ours = [AUTHORITY, POLICY_AUTHORITY, FUTURE_CERTIFICATE.cert]
  setDefaultCACertificates([...getCACertificates('default'), ...ours])
})

interface Shown {
  tls: { cert: string; key: string }
  issuer: string
  flaw?: 'dates' | 'other'
}

const chain = (tls: Shown['tls'], issuer: string) => ({ ...tls, cert: tls.cert + issuer })
const SHOWN: Record<string, Shown> = {
  good: { tls: chain(CERTIFICATE, AUTHORITY), issuer: AUTHORITY },
  expired: { tls: chain(EXPIRED_CERTIFICATE, POLICY_AUTHORITY), issuer: POLICY_AUTHORITY, flaw: 'dates' },
  future: { tls: FUTURE_CERTIFICATE, issuer: FUTURE_CERTIFICATE.cert, flaw: 'dates' },
  'of another name': { tls: chain(SECOND_CERTIFICATE, AUTHORITY), issuer: AUTHORITY, flaw: 'other' },
  'not trusted': { tls: RECEIVER_CERTIFICATE, issuer: AUTHORITY, flaw: 'other' },
}

function daneBy(issuer: string) {
  const data = createHash('sha256').update(new X509Certificate(issuer).raw).digest('hex')
  const names = ['mx1.example.test']
  return { records: [{ usage: 2, selector: 0, matching: 1, data }], baseDomain: 'mx1.example.test', names }
}

test('while our clock is wrong by more than an hour, a flaw of dates is a fault of ours, and the next host is tried', async () => {
  const HOUR_MS = 3_600_000
  const errors = fc.oneof(
    fc.constantFrom(0, HOUR_MS, -HOUR_MS, HOUR_MS + 1, -HOUR_MS - 1),
    fc.integer({ min: -1e12, max: 1e12 }),
  )
  const worlds = fc.record({
    shown: fc.constantFrom(...Object.keys(SHOWN)),
    errorMs: errors,
    by: fc.constantFrom('MTA-STS', 'the sending domain', 'DANE', undefined),
    hasNext: fc.boolean(),
  })
  const servers = new Map(
    await Promise.all(
      Object.entries(SHOWN).map(async ([name, { tls }]) => [name, await exchangerWith({ ehlo: OFFER }, tls)] as const),
    ),
  )
  const next = await exchangerWith({ ehlo: OFFER }, SECOND_CERTIFICATE)
  const seen = new Set<string>()
  await fc.assert(
    fc.asyncProperty(worlds, async ({ shown, errorMs, by, hasNext }) => {
      const { issuer, flaw } = SHOWN[shown]!
      const plain = siteOf(servers.get(shown)!, ...(hasNext ? [next] : []))
      const [first, ...rest] = plain.hosts
      const withDane = { ...plain, hosts: [{ ...first!, dane: daneBy(issuer) }, ...rest] }
      const site = by === 'DANE' ? withDane : by ? demandTls(plain, by) : plain
      const engine = engineWith({ clockErrorMs: () => errorMs })
      const outcome = outcomeOf(await send(engine, site))
      engine.close()
      seen.add(outcome)
      const isProven = flaw === undefined || by === undefined || hasNext
      const isOurs = flaw === 'dates' && Math.abs(errorMs) > HOUR_MS
      expect(outcome).toBe(isProven ? 'delivered' : isOurs ? 'our_fault' : 'policy_block')
    }),
    { numRuns: 150 },
  )
  expect([...seen].sort()).toEqual(['delivered', 'our_fault', 'policy_block'])
})
