import { createPublicKey, generateKeyPairSync, type KeyObject, sign, verify } from 'node:crypto'
import { expect, test } from 'vitest'
import type { DkimKeyRow, Domain } from '../../server/domains/domains.ts'
import {
  checkedRecords,
  hostRecords,
  recordsOf,
  sendingHosts,
  stringsOf,
  zoneLine,
} from '../../server/domains/records.ts'

const publicKeyOf = (pair: { publicKey: KeyObject }) => pair.publicKey.export({ type: 'spki', format: 'der' })
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
const ed25519 = generateKeyPairSync('ed25519')
const domain = {
  name: 'example.com',
  dkimKeys: [
    { selector: 's1', algorithm: 'rsa', publicKey: publicKeyOf(rsa), state: 'active' },
    { selector: 's2', algorithm: 'ed25519', publicKey: publicKeyOf(ed25519), state: 'next' },
  ] as DkimKeyRow[],
}
const hosts = {
  sourceAddresses: ['192.0.2.25', '2001:db8::25'],
  returnPathHost: undefined,
  bounceHost: 'mail.verdict.example',
}

const RETURN_PATH = [
  {
    record: 'SPF',
    type: 'TXT',
    host: 'rp.example.com',
    value: 'v=spf1 ip4:192.0.2.25 ip6:2001:db8::25 -all',
    required: true,
    check: 'SPF',
  },
  {
    record: 'RETURN_PATH',
    type: 'MX',
    host: 'rp.example.com',
    value: '10 mail.verdict.example',
    required: true,
    check: 'RETURN_PATH',
  },
]
const OTHERS = [
  {
    record: 'DKIM',
    type: 'TXT',
    host: 's1._domainkey.example.com',
    value: expect.stringMatching(/^v=DKIM1; k=rsa; p=MII[\w+/]+=*$/),
    required: true,
    check: 'DKIM:s1',
  },
  {
    record: 'DKIM',
    type: 'TXT',
    host: 's2._domainkey.example.com',
    value: expect.stringMatching(/^v=DKIM1; k=ed25519; p=[\w+/]{43}=$/),
    required: false,
    check: 'DKIM:s2',
  },
  {
    record: 'DMARC',
    type: 'TXT',
    host: '_dmarc.example.com',
    value: 'v=DMARC1; p=none',
    required: true,
    check: 'DMARC',
  },
]

test('a domain publishes SPF and MX of its return path, each DKIM key and a DMARC policy; it is verified with the key that signs', () => {
  expect(recordsOf(domain, hosts)).toEqual([...RETURN_PATH, ...OTHERS])
})

test('with a return path host of the operator, one CNAME leads there, and the operator publishes SPF and MX once', () => {
  const returnPathHost = 'bounces.verdict.example'
  expect(recordsOf(domain, { ...hosts, returnPathHost })).toEqual([
    {
      record: 'RETURN_PATH',
      type: 'CNAME',
      host: 'rp.example.com',
      value: returnPathHost,
      required: true,
      check: 'RETURN_PATH',
    },
    ...OTHERS,
  ])
  expect(hostRecords(returnPathHost, hosts)).toEqual(RETURN_PATH.map((record) => ({ ...record, host: returnPathHost })))
})

test('a record with an unknown value is shown with the reason, not left out: the domain cannot be verified without it', () => {
  const unknown = recordsOf(domain, { sourceAddresses: [], returnPathHost: undefined, bounceHost: undefined })
  expect(unknown.slice(0, 2)).toMatchObject([
    { record: 'SPF', value: '', required: true, unknown: expect.stringContaining('SMTP_SOURCE_ADDRESSES') },
    { record: 'RETURN_PATH', value: '', required: true, unknown: expect.stringContaining('SMTP_HELO_NAME') },
  ])
  const checks = { SPF: { status: 'verified', observed: ['v=spf1 +all'], checked_at: '2026-01-01T00:00:00Z' } } as const
  const nobody = { sourceAddresses: [], returnPathHost: undefined, bounceHost: undefined }
  const [spf] = checkedRecords({ ...domain, checks } as unknown as Domain, nobody)
  expect(spf).toMatchObject({ status: 'pending', observed: [], error: expect.stringContaining('operator') })
})

test.each([
  ['mail.example.com', 'mail.example.com'],
  ['MAIL.Example.com', 'mail.example.com'],
  ['localhost', undefined],
  ['ip-10-0-0-1', undefined],
  ['192.0.2.25', undefined],
])('bounces to a server that calls itself %s go to %s', (smtpHeloName, bounceHost) => {
  const config = { production: true, smtpPublicAddresses: ['192.0.2.25'], returnPathHost: undefined, smtpHeloName }
  expect(sendingHosts(config)).toEqual({ sourceAddresses: ['192.0.2.25'], returnPathHost: undefined, bounceHost })
})

test('a domain in a local DNS needs no settings: outside production the machine names itself', () => {
  const config = { smtpPublicAddresses: [], returnPathHost: undefined, smtpHeloName: 'laptop' }
  const own = recordsOf(domain, sendingHosts({ ...config, production: false }, {})).slice(0, 2)
  expect(own.map(({ value }) => value)).toEqual(['v=spf1 ip4:127.0.0.1 -all', '10 mail.localhost'])
  const inProduction = recordsOf(domain, sendingHosts({ ...config, production: true }, {})).slice(0, 2)
  expect(inProduction.map(({ unknown }) => unknown !== undefined)).toEqual([true, true])
})

test('each record is shown with the result of its last check, and is pending before the first one', () => {
  const checks = {
    SPF: { status: 'verified', observed: ['v=spf1 include:all.example -all'], checked_at: '2026-01-31T12:00:00.000Z' },
    'DKIM:s1': { status: 'failed', observed: [], error: 'There is none.', checked_at: '2026-01-31T12:00:00.000Z' },
  } as const
  const records = checkedRecords({ ...domain, checks } as unknown as Domain, hosts)
  const checkedAt = new Date('2026-01-31T12:00:00.000Z')
  expect(records).toMatchObject([
    { check: 'SPF', status: 'verified', observed: ['v=spf1 include:all.example -all'], checkedAt },
    { check: 'RETURN_PATH', status: 'pending', observed: [] },
    { check: 'DKIM:s1', status: 'failed', observed: [], error: 'There is none.', checkedAt },
    { check: 'DKIM:s2', status: 'pending' },
    { check: 'DMARC', status: 'pending' },
  ])
  expect(records[1]).not.toHaveProperty('checkedAt')
})

test('the published keys verify the signatures of the private ones', () => {
  const [first, second] = recordsOf(domain, hosts)
    .filter(({ record }) => record === 'DKIM')
    .map(({ value }) => Buffer.from(value.split('p=')[1]!, 'base64'))
  const data = Buffer.from('signed')
  const published = createPublicKey({ key: first!, format: 'der', type: 'spki' })
  expect(verify('sha256', data, published, sign('sha256', data, rsa.privateKey))).toBe(true)
  const jwk = { kty: 'OKP', crv: 'Ed25519', x: second!.toString('base64url') }
  expect(verify(null, data, createPublicKey({ key: jwk, format: 'jwk' }), sign(null, data, ed25519.privateKey))).toBe(
    true,
  )
})

test('a value over 255 bytes is cut into several strings', () => {
  expect(stringsOf('short')).toEqual(['short'])
  expect(stringsOf(`${'a'.repeat(255)}b`)).toEqual(['a'.repeat(255), 'b'])
  const [dkim] = recordsOf(domain, hosts).filter(({ record }) => record === 'DKIM')
  expect(stringsOf(dkim!.value).join('')).toBe(dkim!.value)
  expect(stringsOf(dkim!.value).map(({ length }) => length)).toEqual([255, dkim!.value.length - 255])
})

test('records are shown as lines of a zone file', () => {
  expect(recordsOf(domain, hosts).map(zoneLine)).toEqual([
    'rp.example.com.  TXT  "v=spf1 ip4:192.0.2.25 ip6:2001:db8::25 -all"',
    'rp.example.com.  MX  10 mail.verdict.example.',
    expect.stringMatching(/^s1\._domainkey\.example\.com\. {2}TXT {2}"v=DKIM1; k=rsa; p=[^" ]{237}" "[^"]+"$/),
    expect.stringMatching(/^s2\._domainkey\.example\.com\. {2}TXT {2}"v=DKIM1; k=ed25519; p=[^"]{44}"$/),
    '_dmarc.example.com.  TXT  "v=DMARC1; p=none"',
  ])
  const [cname] = recordsOf(domain, { ...hosts, returnPathHost: 'bounces.verdict.example' })
  expect(zoneLine(cname!)).toBe('rp.example.com.  CNAME  bounces.verdict.example.')
})
