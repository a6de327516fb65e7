import { execFile } from 'node:child_process'
import { createHmac, createPublicKey, generateKeyPairSync, type KeyObject, sign as signWith } from 'node:crypto'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import type { JSONWebKeySet } from 'jose'
import { expect, test } from 'vitest'
import { verifyReceipt } from '../../server/receipts/verify-receipt.ts'
import { listenUntilEnd } from '../harness/until-end.ts'

// Forged receipts in the hands of each verifier: ours, and those of the guide in TypeScript (jose) and Python (PyJWT).
// All get the same ones, and none may take one for genuine.

const ROOT = join(import.meta.dirname, '../..')
const TYPE = 'verdict-receipt+jwt'
const KID = 'rkey_1'

const ours = generateKeyPairSync('ed25519')
const foreign = generateKeyPairSync('ed25519')
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const jwk = { ...ours.publicKey.export({ format: 'jwk' }), kid: KID, alg: 'EdDSA', use: 'sig' }
const keySet = { keys: [jwk] } as JSONWebKeySet

const server = createServer((_, response) => {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(keySet))
})
const issuer = `http://127.0.0.1:${await listenUntilEnd(server)}`
const guide = await readFile(join(ROOT, 'docs/receipts.md'), 'utf8')

const encode = (value: unknown) =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')
const claimsOf = () => ({
  iss: issuer,
  sub: 'msg_01jx3c7w5fe9c8m0t1q2r3s4v5',
  iat: Math.floor(Date.now() / 1_000) - 60,
  from_domain: 'example.test',
  created_at: '2026-01-31T12:00:00.000Z',
  digest: `sha-256:${'a'.repeat(64)}`,
  sandbox: false,
  recipients: [
    { email: 'ann@example.net', kind: 'to', status: 'bounced', code: 550, reply: 'No', at: '2026-01-31T12:00:00.412Z' },
  ],
})

type Sign = (signed: string) => Buffer
const by =
  (key: KeyObject, hash: string | null = null): Sign =>
  (signed) =>
    signWith(hash, Buffer.from(signed), key)
const hmac =
  (secret: string | Buffer, hash = 'sha256'): Sign =>
  (signed) =>
    createHmac(hash, secret).update(signed).digest()
const nothing: Sign = () => Buffer.alloc(0)

function jws(header: object | string, sign: Sign, claims: object | string = claimsOf()): string {
  const head = typeof header === 'string' ? header : { alg: 'EdDSA', kid: KID, typ: TYPE, ...header }
  const signed = `${encode(head)}.${encode(claims)}`
  return `${signed}.${sign(signed).toString('base64url')}`
}

const genuine = () => jws({}, by(ours.privateKey))

/** The order of the group of Ed25519 (RFC 8032 5.1): a signature whose S is larger by it has the same meaning. */
const ORDER = 2n ** 252n + 27742317777372353535851937790883648493n
const malleable: Sign = (signed) => {
  const signature = by(ours.privateKey)(signed)
  const s = BigInt(`0x${Buffer.from(signature.subarray(32).toReversed()).toString('hex')}`) + ORDER
  const bytes = Buffer.from(s.toString(16).padStart(64, '0'), 'hex').reverse()
  return Buffer.concat([signature.subarray(0, 32), bytes])
}

/** Every claim and every field of a recipient with another value, under the signature of the genuine one. */
function editedClaims(): [string, string][] {
  const [head, body, signature] = genuine().split('.') as [string, string, string]
  const claims = JSON.parse(Buffer.from(body, 'base64url').toString())
  const under = (changed: object) => `${head}.${encode(changed)}.${signature}`
  const other = (value: unknown) => (typeof value === 'number' ? value + 1 : typeof value === 'boolean' ? !value : 'x')
  const [recipient] = claims.recipients
  return [
    ...Object.keys(claims).flatMap((name): [string, string][] => {
      const { [name]: _, ...without } = claims
      return [
        [`another ${name}`, under({ ...claims, [name]: other(claims[name]) })],
        [`no ${name}`, under(without)],
      ]
    }),
    ...Object.keys(recipient).map((name): [string, string] => [
      `another ${name} of the recipient`,
      under({ ...claims, recipients: [{ ...recipient, [name]: other(recipient[name]) }] }),
    ]),
    [
      'another recipient beside',
      under({ ...claims, recipients: [recipient, { ...recipient, email: 'b@example.net' }] }),
    ],
    ['a claim beside', under({ ...claims, admin: true })],
  ]
}

function forged(): [what: string, jws: string][] {
  const pem = ours.publicKey.export({ format: 'pem', type: 'spki' }) as string
  const der = ours.publicKey.export({ format: 'der', type: 'spki' })
  const secrets: [string, string | Buffer][] = [
    ['the octets of the public key', Buffer.from(jwk.x!, 'base64url')],
    ['the public key in base64url', jwk.x!],
    ['the public key in PEM', pem],
    ['the public key in PEM without its end', pem.trimEnd()],
    ['the public key in DER', der],
    ['the JSON of the public key', JSON.stringify(jwk)],
    ['nothing', ''],
  ]
  const embedded = { ...createPublicKey(foreign.privateKey).export({ format: 'jwk' }), kid: 'mine' }
  const [head, body, signature] = genuine().split('.') as [string, string, string]
  return [
    ...['none', 'None', 'NONE', 'nOnE', '', 'EDDSA'].map((alg): [string, string] => [
      `the algorithm "${alg}"`,
      jws({ alg }, nothing),
    ]),
    ...['HS256', 'HS384', 'HS512'].flatMap((alg) =>
      secrets.map(([what, secret]): [string, string] => [
        `${alg} with ${what} as its secret`,
        jws({ alg }, hmac(secret, alg.replace('HS', 'sha'))),
      ]),
    ),
    ['RS256 with a key of its own', jws({ alg: 'RS256' }, by(rsa.privateKey, 'sha256'))],
    ['ES256 with a key of its own', jws({ alg: 'ES256' }, by(ec.privateKey, 'sha256'))],
    ['no algorithm', jws({ alg: undefined }, by(ours.privateKey))],
    ["a foreign key under the issuer's id", jws({}, by(foreign.privateKey))],
    ['a foreign id', jws({ kid: 'rkey_2' }, by(foreign.privateKey))],
    ['a foreign id on a genuine signature', jws({ kid: 'rkey_2' }, by(ours.privateKey))],
    ['a path as its id', jws({ kid: '../../../dev/null' }, by(foreign.privateKey))],
    ['a list as its id', jws({ kid: [KID] }, by(foreign.privateKey))],
    ['a foreign key that it brings itself', jws({ kid: 'mine', jwk: embedded }, by(foreign.privateKey))],
    [
      'the address of a foreign key',
      jws({ kid: 'mine', jku: `${issuer}/mine`, x5u: `${issuer}/mine` }, by(foreign.privateKey)),
    ],
    ['an unknown critical header', jws({ crit: ['later'], later: 1 }, by(ours.privateKey))],
    ['a payload that is not encoded', jws({ crit: ['b64'], b64: false }, by(ours.privateKey))],
    ['another type', jws({ typ: 'JWT' }, by(ours.privateKey))],
    ['no type', jws({ typ: undefined }, by(ours.privateKey))],
    ['a signature that is the same modulo the order', jws({}, malleable)],
    ['a signature of nothing but zeros', jws({}, () => Buffer.alloc(64))],
    ['an empty signature', jws({}, nothing)],
    ['half a signature', `${head}.${body}.${signature.slice(0, 43)}`],
    ['the signature of another receipt', `${head}.${encode({ ...claimsOf(), sub: 'msg_other' })}.${signature}`],
    ['another issuer', jws({}, by(ours.privateKey), { ...claimsOf(), iss: 'https://evil.example' })],
    ['an issuer that begins like ours', jws({}, by(ours.privateKey), { ...claimsOf(), iss: `${issuer}.evil.example` })],
    ['no issuer', jws({}, by(ours.privateKey), { ...claimsOf(), iss: undefined })],
    ['a list of issuers', jws({}, by(ours.privateKey), { ...claimsOf(), iss: ['https://evil.example', issuer] })],
    ['claims that are a list', jws({}, by(ours.privateKey), '[]')],
    ['claims that are no JSON', jws({}, by(ours.privateKey), 'delivered')],
    ['the JSON form', JSON.stringify({ protected: head, payload: body, signature })],
    ['a part more', `${genuine()}.e30`],
    ['an encrypted form', `${head}.${body}.${signature}.${body}.${signature}`],
    ...editedClaims(),
  ]
}

type Verify = (receipts: string[]) => Promise<boolean[]>

const VERIFIERS: [string, Verify][] = [
  [
    'ours',
    (receipts) =>
      Promise.all(receipts.map(async (receipt) => !('fault' in (await verifyReceipt(receipt, keySet, issuer))))),
  ],
  [
    'jose in the guide',
    async (receipts) => {
      const [, code] = /^```js verify\n(.*?)^```/ms.exec(guide)!
      const folder = await mkdtemp(join(ROOT, 'node_modules/.verify-'))
      const file = join(folder, 'verify.mjs')
      await writeFile(file, code!.replace('https://mail.example.com', issuer))
      const { verify } = await import(pathToFileURL(file).href).finally(() => rm(folder, { recursive: true }))
      const isGenuine = (receipt: string) => verify(receipt).then(Boolean, () => false)
      return Promise.all(receipts.map(isGenuine))
    },
  ],
  [
    'PyJWT in the guide',
    async (receipts) => {
      const [, code] = /^```python verify\n(.*?)^```/ms.exec(guide)!
      const driver = `
import json, sys
def genuine(receipt):
    try:
        return bool(verify(receipt))
    except Exception:
        return False
print(json.dumps([genuine(receipt) for receipt in json.loads(sys.argv[1])]))
`
      const program = code!.replace('https://mail.example.com', issuer) + driver
      const { stdout } = await promisify(execFile)('/usr/bin/python3', ['-c', program, JSON.stringify(receipts)])
      return JSON.parse(stdout)
    },
  ],
]

test.each(VERIFIERS)('%s takes the genuine receipt, and no forged one', async (_, verify) => {
  const forgeries = forged()
  const [first, ...others] = await verify([genuine(), ...forgeries.map(([, receipt]) => receipt)])
  expect(first).toBe(true)
  expect(forgeries.filter((_, i) => others[i]).map(([what]) => what)).toEqual([])
  expect(forgeries.length).toBeGreaterThan(70)
})
