import { createHash, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import fc from 'fast-check'
import { dkimVerify } from 'mailauth/lib/dkim/verify.js'
import { expect, test } from 'vitest'
import { parseAddress, parseMailbox } from '../../../mail/address.ts'
import { buildMessage, type MimeMessage } from '../../../mail/mime/builder.ts'
import { relaxedBodyHash } from '../../../mail/mime/canonical.ts'
import { signMessage } from '../../../mail/mime/dkim.ts'
import { anyCharacter } from '../../harness/text.ts'

const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
const ed25519 = generateKeyPairSync('ed25519')
const keys = [
  { selector: 'rsa1', key: rsa.privateKey },
  { selector: 'ed1', key: ed25519.privateKey },
]
const signer = { domain: 'shop.example', keys, date: new Date() }

/** The DNS records as the operator would publish them. */
async function resolver(name: string): Promise<string[][]> {
  const records: Record<string, string> = {
    'rsa1._domainkey.shop.example': `v=DKIM1; k=rsa; p=${der(rsa.publicKey).toString('base64')}`,
    'ed1._domainkey.shop.example': `v=DKIM1; k=ed25519; p=${der(ed25519.publicKey).subarray(-32).toString('base64')}`,
  }
  const record = records[name]
  if (record === undefined) throw Object.assign(new Error(name), { code: 'ENOTFOUND' })
  return [[record]]
}

function der(key: KeyObject): Buffer {
  return key.export({ type: 'spki', format: 'der' })
}

async function verify(raw: Buffer): Promise<string[]> {
  const { results } = await dkimVerify(raw, { resolver })
  return results.map(({ status, algo }) => `${algo} ${status?.result}`)
}

const PASS = ['rsa-sha256 pass', 'ed25519-sha256 pass']
const FAIL = ['rsa-sha256 fail', 'ed25519-sha256 fail']
/** mailauth's comment when the body hash differs. */
const BODY_FAIL = ['rsa-sha256 neutral', 'ed25519-sha256 neutral']

const basic: MimeMessage = {
  messageId: 'msg_1@rp.shop.example',
  date: new Date('2026-01-02T03:04:05Z'),
  from: parseMailbox('Shop <no-reply@shop.example>')!,
  to: [parseAddress('user@example.com')!],
  subject: 'Your order of today, with a subject that is so long that it must be folded once or twice',
  text: 'Thank you.\n\n  Two  spaces\tand a tab.\n\nBye',
  headers: [
    ['X-Order', '42'],
    ['List-Unsubscribe', '<https://shop.example/u>'],
    ['List-Unsubscribe-Post', 'List-Unsubscribe=One-Click'],
  ],
  attachments: [],
  boundarySeed: 'msg_1',
}

async function signed(pieces: Buffer[]): Promise<Buffer> {
  return Buffer.concat([await signMessage(pieces, signer), ...pieces])
}

test('a message is signed with RSA first and Ed25519 second, whatever the order of the keys', async () => {
  const pieces = buildMessage(basic)
  const signature = await signMessage(pieces, { ...signer, keys: keys.toReversed() })
  expect(signature.toString().match(/ [as]=[^;]+/g)).toEqual([
    ' a=rsa-sha256',
    ' s=rsa1',
    ' a=ed25519-sha256',
    ' s=ed1',
  ])
  expect(await verify(Buffer.concat([signature, ...pieces]))).toEqual(PASS)
})

test('an address with letters beyond ASCII is signed as it travels', async () => {
  const to = [parseMailbox('Zoë <用户@例子.example>')!, parseMailbox('ünï@example.com')!]
  const pieces = buildMessage({ ...basic, to, cc: to, replyTo: to })
  const raw = await signed(pieces)
  expect(raw.toString()).toContain('\r\nTo: =?UTF-8?B?Wm/Dqw==?= <用户@xn--fsqu00a.example>, ünï@example.com\r\n')
  expect(await verify(raw)).toEqual(PASS)
  expect(await verify(Buffer.from(raw.toString().replaceAll('ünï', 'uni')))).toEqual(FAIL)
})

test('the signature fields are folded, in lines of at most 78 characters', async () => {
  const signature = (await signMessage(buildMessage(basic), signer)).toString()
  expect(signature.endsWith('\r\n')).toBe(true)
  for (const line of signature.split('\r\n')) expect(line.length).toBeLessThanOrEqual(78)
})

test('From, To, Cc, Subject, Date, Message-ID, Reply-To, MIME-Version and Content-Type are signed once more often than they occur', async () => {
  const signature = (await signMessage(buildMessage(basic), signer)).toString()
  const names = /\r\n h=([^;]+);/.exec(signature)![1]!.replace(/\s/g, '').split(':')
  const count = (name: string) => names.filter((other) => other === name).length
  for (const name of ['from', 'to', 'subject', 'date', 'message-id', 'mime-version', 'content-type'])
    expect(count(name), name).toBe(2)
  expect(count('cc')).toBe(1)
  expect(count('reply-to')).toBe(1)
  expect(count('list-unsubscribe')).toBe(2)
  expect(count('list-unsubscribe-post')).toBe(2)
  expect(count('in-reply-to')).toBe(0)
  expect(count('x-order')).toBe(0)
})

test('a signature survives the changes that relays may make: folding, case of names, spaces, empty lines at the end, fields in front', async () => {
  const raw = (await signed(buildMessage(basic))).toString()
  const mangled = `Received: from a by b; Fri, 02 Jan 2026 03:04:06 +0000\r\n${raw
    .replace('Subject: Your order', 'SUBJECT :   Your\r\n\torder')
    .replace('From: Shop ', 'from:\r\n Shop \t ')
    .replace('X-Order: 42', 'X-Order: 43')
    .replace('Two  spaces\tand', 'Two spaces  and')
    .replace('Thank you.', 'Thank you. \t')}\r\n \r\n\r\n`
  expect(mangled).not.toBe(raw)
  expect(await verify(Buffer.from(mangled))).toEqual(PASS)
})

test.each<[string, (raw: string) => string, string[]]>([
  ['a changed subject', (raw) => raw.replace('Subject: Your', 'Subject: Their'), FAIL],
  ['a changed sender', (raw) => raw.replace('Shop <no-reply', 'Bank <no-reply'), FAIL],
  ['a changed one-click address', (raw) => raw.replace('https://shop.example/u', 'https://evil.example/u'), FAIL],
  ['a second From', (raw) => `From: Bank <a@bank.example>\r\n${raw}`, FAIL],
  ['a second From at the end', (raw) => raw.replace('\r\n\r\n', '\r\nFrom: Bank <a@bank.example>\r\n\r\n'), FAIL],
  ['a second Subject', (raw) => `Subject: Win\r\n${raw}`, FAIL],
  ['a Reply-To where there was none', (raw) => `Reply-To: a@evil.example\r\n${raw}`, FAIL],
  ['a Cc where there was none', (raw) => `Cc: a@evil.example\r\n${raw}`, FAIL],
  ['a second List-Unsubscribe', (raw) => `List-Unsubscribe: <https://evil.example>\r\n${raw}`, FAIL],
  ['another Content-Type', (raw) => raw.replace('text/plain', 'text/html'), FAIL],
  ['a changed word', (raw) => raw.replace('Thank', 'Thenk'), BODY_FAIL],
  ['an added line', (raw) => `${raw}More\r\n`, BODY_FAIL],
  ['an empty line less', (raw) => raw.replace('.\r\n\r\n ', '.\r\n '), BODY_FAIL],
  ['words run together', (raw) => raw.replace('Two  spaces', 'Twospaces'), BODY_FAIL],
])('a signature does not survive %s', async (_, tamper, expected) => {
  const raw = (await signed(buildMessage(basic))).toString()
  const tampered = tamper(raw)
  expect(tampered).not.toBe(raw)
  expect(await verify(Buffer.from(tampered))).toEqual(expected)
})

const HEAD = 'From: a@shop.example\r\nSubject: x\r\n\r\n'

test.each([
  '',
  '\r\n',
  '\r\n\r\n\r\n',
  ' \t\r\n\r\n',
  'a',
  'a\r\n',
  'a\r\n\r\n\r\n',
  'a \r\n \t\r\n',
  ' a',
  '\r\n\r\na',
  'a\r\n\r\nb\t\t c \r\n\r\n',
])('a body of %j is signed as verifiers see it', async (body) => {
  expect(await verify(await signed([Buffer.from(HEAD + body)]))).toEqual(PASS)
})

test('an empty body, and one of empty lines only, have the hash of nothing (RFC 6376 3.4.4)', () => {
  for (const body of ['', '\r\n\r\n', ' \r\n\t'])
    expect(relaxedBodyHash([Buffer.from(body)]).toString('base64')).toBe('47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=')
})

/** RFC 6376 3.4.4, word for word, on a body in one string. */
function plainBodyHash(body: string): Buffer {
  const relaxed = body
    .split('\r\n')
    .map((line) => line.replace(/[ \t]+/g, ' ').replace(/ $/, ''))
    .join('\r\n')
    .replace(/(?:\r\n)+$/, '')
  return createHash('sha256')
    .update(relaxed === '' ? '' : `${relaxed}\r\n`)
    .digest()
}

test('the body hash does not depend on how the body is cut into pieces', () => {
  const octet = fc.constantFrom('a', 'b', ' ', '\t', '\r\n', '\r\n', 'line\r\n', '\r\n.\r\n', 'x'.repeat(100))
  const cuts = fc.array(fc.nat({ max: 400 }), { maxLength: 6 })
  fc.assert(
    fc.property(fc.array(octet, { maxLength: 30 }), cuts, (parts, at) => {
      const body = Buffer.from(parts.join(''))
      const borders = [0, ...at.map((cut) => Math.min(cut, body.length)).sort((a, b) => a - b), body.length]
      const pieces = borders.slice(1).map((end, index) => body.subarray(borders[index], end))
      expect(relaxedBodyHash(pieces)).toEqual(plainBodyHash(body.toString()))
    }),
    { numRuns: 5_000 },
  )
})

test('a carriage return that ends no line counts like any other octet', () => {
  for (const body of ['a\r', 'a \r', 'a\rb\r\n', '\r', 'a\r\r\n', 'a\r \r\n\r', 'x \r y'])
    expect(relaxedBodyHash([...Buffer.from(body)].map((octet) => Buffer.of(octet))), JSON.stringify(body)).toEqual(
      plainBodyHash(body),
    )
})

test('every signed message is verified by other implementations', async () => {
  const text = fc.oneof(
    fc.string({ unit: anyCharacter, maxLength: 500 }),
    fc.array(fc.constantFrom('a', ' ', '\t', '\n', '\r\n', '.')).map((parts) => parts.join('')),
  )
  const message = fc.record({
    subject: fc.string({ unit: 'grapheme', maxLength: 200 }),
    text,
    html: fc.option(text, { nil: undefined }),
    headers: fc.array(fc.tuple(fc.constantFrom('X-A', 'In-Reply-To', 'References', 'List-Unsubscribe'), fc.string()), {
      maxLength: 4,
    }),
    attachments: fc.array(
      fc.record({
        filename: fc.string(),
        content: fc.uint8Array({ maxLength: 200 }).map((octets) => Buffer.from(octets)),
      }),
      { maxLength: 2 },
    ),
  })
  await fc.assert(
    fc.asyncProperty(message, async (changes) => {
      expect(await verify(await signed(buildMessage({ ...basic, ...changes })))).toEqual(PASS)
    }),
    { numRuns: 200 },
  )
})

test('a message with a large attachment, in several pieces, is verified by other implementations', async () => {
  const content = Buffer.alloc(2_000_000, 'attachment ')
  const pieces = buildMessage({ ...basic, attachments: [{ filename: 'a.bin', content }] })
  expect(pieces.length).toBeGreaterThan(2)
  expect(await verify(await signed(pieces))).toEqual(PASS)
})

test.each<[string, { selector: string; key: KeyObject }[]]>([
  ['there is no key', []],
  ['there is no RSA key', [{ selector: 'ed1', key: ed25519.privateKey }]],
  ['the key is public', [{ selector: 'rsa1', key: createPublicKey(rsa.privateKey) }]],
  [
    'the key is of another kind',
    [keys[0]!, { selector: 'ec1', key: generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey }],
  ],
])('when %s, signing throws', async (_, keys) => {
  await expect(signMessage(buildMessage(basic), { ...signer, keys })).rejects.toThrow()
})
