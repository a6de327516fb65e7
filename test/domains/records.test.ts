import { createPublicKey, generateKeyPairSync, sign, verify } from 'node:crypto'
import { expect, test } from 'vitest'
import { inStrings, recordsOf } from '../../server/domains/records.ts'

const publicKeyOf = (pair: { publicKey: ReturnType<typeof createPublicKey> }) =>
  pair.publicKey.export({ type: 'spki', format: 'der' })
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
const ed25519 = generateKeyPairSync('ed25519')
const domain = {
  name: 'example.com',
  sourceAddresses: ['192.0.2.25', '2001:db8::25'],
  returnPathHost: undefined,
  dkimKeys: [
    { selector: 's1', algorithm: 'rsa', publicKey: publicKeyOf(rsa) },
    { selector: 's2', algorithm: 'ed25519', publicKey: publicKeyOf(ed25519) },
  ],
} as const

test('a domain publishes each DKIM key, SPF for its return path and a DMARC policy', () => {
  expect(recordsOf(domain)).toEqual([
    {
      record: 'DKIM',
      type: 'TXT',
      host: 's1._domainkey.example.com',
      value: expect.stringMatching(/^v=DKIM1; k=rsa; p=MII[\w+/]+=*$/),
    },
    {
      record: 'DKIM',
      type: 'TXT',
      host: 's2._domainkey.example.com',
      value: expect.stringMatching(/^v=DKIM1; k=ed25519; p=[\w+/]{43}=$/),
    },
    { record: 'SPF', type: 'TXT', host: 'rp.example.com', value: 'v=spf1 ip4:192.0.2.25 ip6:2001:db8::25 -all' },
    { record: 'DMARC', type: 'TXT', host: '_dmarc.example.com', value: 'v=DMARC1; p=none' },
  ])
})

test('one return path host for all domains is where their SPF stands', () => {
  const records = recordsOf({ ...domain, returnPathHost: 'bounces.verdict.example' })
  expect(records.find(({ record }) => record === 'SPF')!.host).toBe('bounces.verdict.example')
})

test('without a known source address there is no SPF record: one that lets nobody send would be wrong', () => {
  expect(recordsOf({ ...domain, sourceAddresses: [] }).map(({ record }) => record)).toEqual(['DKIM', 'DKIM', 'DMARC'])
})

test('the published keys verify what the private ones sign', () => {
  const [first, second] = recordsOf(domain)
    .slice(0, 2)
    .map(({ value }) => Buffer.from(value.split('p=')[1]!, 'base64'))
  const data = Buffer.from('signed')
  const published = createPublicKey({ key: first!, format: 'der', type: 'spki' })
  expect(verify('sha256', data, published, sign('sha256', data, rsa.privateKey))).toBe(true)
  const jwk = { kty: 'OKP', crv: 'Ed25519', x: second!.toString('base64url') }
  expect(verify(null, data, createPublicKey({ key: jwk, format: 'jwk' }), sign(null, data, ed25519.privateKey))).toBe(
    true,
  )
})

test('a value over 255 bytes is shown as several strings', () => {
  expect(inStrings('short')).toBe('"short"')
  expect(inStrings(`${'a'.repeat(255)}b`)).toBe(`"${'a'.repeat(255)}" "b"`)
})
