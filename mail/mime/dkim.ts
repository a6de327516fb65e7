import { createHash, type KeyObject, sign } from 'node:crypto'
import { relaxedBodyHash, relaxedField } from './canonical.ts'

export interface DkimSigningKey {
  selector: string
  /** Private, RSA or Ed25519. */
  key: KeyObject
}

export interface Signer {
  /** In lower case, A-labels. */
  domain: string
  /** One RSA key, which every verifier knows, and at most one Ed25519 key (RFC 8463) for those that know it. */
  keys: readonly DkimSigningKey[]
  date: Date
}

/**
 * Each name is signed once more often than it occurs, even an absent one, so adding such a field breaks the signature.
 */
const ALWAYS_SIGNED = ['from', 'to', 'cc', 'subject', 'date', 'message-id', 'reply-to', 'mime-version', 'content-type']
/** Signed in the same way when they occur. RFC 8058 4 requires a signature over the first two. */
const SIGNED_IF_PRESENT = [
  'list-unsubscribe',
  'list-unsubscribe-post',
  'content-transfer-encoding',
  'in-reply-to',
  'references',
]

/**
 * The DKIM-Signature fields (RFC 6376, relaxed/relaxed) to put in front of the message, the RSA one first.
 * @param pieces of the message, CRLF line ends only; the first one contains the whole header
 * @throws when there is no RSA key or a key cannot sign, so that no mail leaves unsigned
 */
export async function signMessage(pieces: readonly Buffer[], { domain, keys, date }: Signer): Promise<Buffer> {
  const { fields, body } = split(pieces)
  const bodyHash = relaxedBodyHash(body).toString('base64')
  const names = signedNames(fields)
  const covered = coveredFields(fields, names)
  const signatures = rsaFirst(keys).map(async ({ selector, key }) => {
    const unsigned =
      ` v=1; a=${algorithm(key)}; c=relaxed/relaxed; d=${domain};\r\n s=${selector}; ` +
      `t=${Math.floor(date.getTime() / 1000)}; bh=${bodyHash};\r\n h=${wrap(names.join(':'), /.{1,70}(?::|$)/g)};\r\n b=`
    const signature = await signData(`${covered}${relaxedField('DKIM-Signature', unsigned)}`, key)
    return `DKIM-Signature:${unsigned}${wrap(signature.toString('base64'), /.{1,72}/g)}\r\n`
  })
  return Buffer.from((await Promise.all(signatures)).join(''), 'latin1')
}

type Field = [name: string, body: string]
type FieldsByName = Map<string, Field[]>

function split(pieces: readonly Buffer[]): { fields: FieldsByName; body: Buffer[] } {
  const [first = Buffer.alloc(0), ...rest] = pieces
  const end = first.indexOf('\r\n\r\n')
  if (end < 0) throw new Error('The first piece of a message must hold its whole header')
  const lines = first.toString('latin1', 0, end).split(/\r\n(?![\t ])/)
  const fields = lines.map((line): Field => {
    const colon = line.indexOf(':')
    return [line.slice(0, colon).trimEnd().toLowerCase(), line.slice(colon + 1)]
  })
  return { fields: Map.groupBy(fields, ([name]) => name), body: [first.subarray(end + 4), ...rest] }
}

function signedNames(fields: FieldsByName): string[] {
  const count = (name: string) => fields.get(name)?.length ?? 0
  const names = [...ALWAYS_SIGNED, ...SIGNED_IF_PRESENT.filter((name) => count(name) > 0)]
  return names.flatMap((name) => Array<string>(count(name) + 1).fill(name))
}

/** The fields in the order of `names`. A repeated name covers the field above (RFC 6376 5.4.2), then an absent one. */
function coveredFields(fields: FieldsByName, names: readonly string[]): string {
  return [...new Set(names)]
    .flatMap((name) => fields.get(name)?.toReversed() ?? [])
    .map(([name, body]) => `${relaxedField(name, body)}\r\n`)
    .join('')
}

function rsaFirst(keys: readonly DkimSigningKey[]): DkimSigningKey[] {
  const rsa = keys.filter(({ key }) => key.asymmetricKeyType === 'rsa')
  if (rsa.length === 0) throw new Error('A message must be signed with an RSA key')
  return [...rsa, ...keys.filter((key) => !rsa.includes(key))]
}

function algorithm({ asymmetricKeyType }: KeyObject): string {
  if (asymmetricKeyType === 'rsa') return 'rsa-sha256'
  if (asymmetricKeyType === 'ed25519') return 'ed25519-sha256'
  throw new Error(`A ${asymmetricKeyType} key cannot make a DKIM signature`)
}

/** Signs in libuv's thread pool, so that the event loop goes on and another core is used. */
function signData(data: string, key: KeyObject): Promise<Buffer> {
  const octets = Buffer.from(data, 'latin1')
  return new Promise((resolve, reject) => {
    const done = (error: Error | null, signature: Buffer) => (error ? reject(error) : resolve(signature))
    // Ed25519 signs the SHA-256 of the data (RFC 8463 3).
    if (key.asymmetricKeyType === 'ed25519') sign(null, createHash('sha256').update(octets).digest(), key, done)
    else sign('sha256', octets, key, done)
  })
}

function wrap(text: string, line: RegExp): string {
  return (text.match(line) ?? []).join('\r\n ')
}
