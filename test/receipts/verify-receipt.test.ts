import { createHmac, generateKeyPairSync, type KeyObject } from 'node:crypto'
import fc from 'fast-check'
import { CompactSign, type JSONWebKeySet } from 'jose'
import { expect, test } from 'vitest'
import { KEY, RECEIPT } from '../../dev/openapi/receipt-example.ts'
import type { ReceiptClaims } from '../../server/receipts/claims.ts'
import { verifyReceipt } from '../../server/receipts/verify-receipt.ts'

const ISSUER = 'https://mail.example.com'
const TYPE = 'verdict-receipt+jwt'

const claims: ReceiptClaims = {
  iss: ISSUER,
  sub: 'msg_01jx3c7w5fe9c8m0t1q2r3s4v5',
  iat: 1_769_947_200,
  from_domain: 'example.test',
  created_at: '2026-01-31T12:00:00.000Z',
  sandbox: false,
  recipients: [{ email: 'ann@example.net', kind: 'to', status: 'delivered', at: '2026-01-31T12:00:00.412Z' }],
}

function newKey(kid: string) {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  return { kid, privateKey, jwk: { ...publicKey.export({ format: 'jwk' }), kid, alg: 'EdDSA', use: 'sig' } }
}

const old = newKey('rkey_old')
const current = newKey('rkey_current')
const stranger = newKey('rkey_current')
const SET = { keys: [old.jwk, current.jwk] } as JSONWebKeySet

const sign = (header: object, key: KeyObject = current.privateKey, payload: object = claims) =>
  new CompactSign(Buffer.from(JSON.stringify(payload)))
    .setProtectedHeader({ alg: 'EdDSA', kid: current.kid, typ: TYPE, ...header })
    .sign(key)

const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
const GENUINE = await sign({})
const [head, body, signature] = GENUINE.split('.') as [string, string, string]
const publicKeyBytes = Buffer.from(current.jwk.x!, 'base64url')

const faultOf = async (jws: string, set = SET, issuer: string | undefined = ISSUER) => {
  const verification = await verifyReceipt(jws, set, issuer)
  return 'fault' in verification ? verification.fault : 'none'
}

test('a genuine receipt returns its claims and its key, also when a retired key signed it', async () => {
  expect(await verifyReceipt(GENUINE, SET, ISSUER)).toEqual({ claims, kid: current.kid })
  const earlier = await sign({ kid: old.kid }, old.privateKey)
  expect(await verifyReceipt(earlier, SET, ISSUER)).toEqual({ claims, kid: old.kid })
  expect(await faultOf(earlier, { keys: [current.jwk] } as JSONWebKeySet)).toBe('unknown_key')
})

test('the receipt in the reference is genuine', async () => {
  expect(await faultOf(RECEIPT, { keys: [KEY] }, 'https://mail.example.com')).toBe('none')
})

/** What `none` and HS256 have cost others: RFC 8725 2.1. */
const withAlgorithm = (alg: string) => `${encode({ alg, kid: current.kid, typ: TYPE })}.${body}`
const hmac = (signed: string) => `${signed}.${createHmac('sha256', publicKeyBytes).update(signed).digest('base64url')}`

const REFUSED: [what: string, jws: string | Promise<string>, fault: string][] = [
  ['text', 'Delivered, I promise.', 'not_a_receipt'],
  ['an empty text', '', 'not_a_receipt'],
  ['an error of the API', '{"error":"not_found","message":"..."}', 'not_a_receipt'],
  ['a header alone', head, 'truncated'],
  ['no signature', `${head}.${body}`, 'truncated'],
  ['an empty signature', `${head}.${body}.`, 'truncated'],
  ['a signature that is cut', GENUINE.slice(0, -20), 'truncated'],
  ['a fourth part', `${GENUINE}.e30`, 'not_a_receipt'],
  ['another outcome', GENUINE.replace(body, encode({ ...claims, sub: 'msg_other' })), 'forged'],
  ["another receipt's signature", `${head}.${encode({ ...claims, iat: 0 })}.${signature}`, 'forged'],
  ["a stranger's key under a known id", sign({}, stranger.privateKey), 'forged'],
  ['a key that the set lacks', sign({ kid: 'rkey_unknown' }), 'unknown_key'],
  ['no key id', sign({ kid: undefined }), 'unknown_key'],
  ['the algorithm none', `${withAlgorithm('none')}.`, 'wrong_algorithm'],
  ['HS256 with the public key as its secret', hmac(withAlgorithm('HS256')), 'wrong_algorithm'],
  ['another type of token', sign({ typ: 'JWT' }), 'wrong_type'],
  ['no type', sign({ typ: undefined }), 'wrong_type'],
  ['another issuer', sign({}, current.privateKey, { ...claims, iss: 'https://evil.example' }), 'wrong_issuer'],
  ['claims of something else', sign({}, current.privateKey, { iss: ISSUER, sub: 'x' }), 'not_a_receipt'],
  ['an unknown critical header', sign({}).then((jws) => withCritical(jws)), 'not_a_receipt'],
]

const withCritical = (jws: string) =>
  jws.replace(/^[^.]*/, encode({ alg: 'EdDSA', kid: current.kid, typ: TYPE, crit: ['later'], later: 1 }))

test.for(REFUSED)('%s is refused', async ([, jws, fault]) => {
  expect(await faultOf(await jws)).toBe(fault)
})

test('the issuer is checked only when it is known', async () => {
  expect(await faultOf(await sign({}, current.privateKey, { ...claims, iss: 'https://other.example' }), SET)).toBe(
    'wrong_issuer',
  )
  const verification = await verifyReceipt(GENUINE, SET)
  expect(verification).toHaveProperty('claims.iss', ISSUER)
})

test('a key set with keys of other kinds is used; one without a usable key refuses', async () => {
  const rsa = generateKeyPairSync('rsa', { modulusLength: 1024 }).publicKey.export({ format: 'jwk' })
  const mixed = { keys: [{ ...rsa, kid: current.kid }, {}, current.jwk] } as JSONWebKeySet
  expect(await faultOf(GENUINE, mixed)).toBe('none')
  expect(await faultOf(GENUINE, { keys: [{ ...rsa, kid: current.kid }] } as JSONWebKeySet)).toBe('unknown_key')
  const broken = { keys: [{ ...current.jwk, x: 'AAAA' }] } as JSONWebKeySet
  expect(await faultOf(GENUINE, broken)).toBe('not_a_receipt')
})

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_. \n=+/'

test('no other text than the receipt itself is genuine: one character changed, added or left out', async () => {
  const edit = fc.record({
    at: fc.nat({ max: GENUINE.length - 1 }),
    remove: fc.nat({ max: 1 }),
    add: fc.string({ unit: fc.constantFrom(...ALPHABET), maxLength: 1 }),
  })
  await fc.assert(
    fc.asyncProperty(edit, async ({ at, remove, add }) => {
      const changed = GENUINE.slice(0, at) + add + GENUINE.slice(at + remove)
      fc.pre(changed !== GENUINE)
      expect(await faultOf(changed)).not.toBe('none')
    }),
    { numRuns: 500 },
  )
})
