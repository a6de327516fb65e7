import { createHmac, createSecretKey, type KeyObject, randomBytes } from 'node:crypto'
import { memoize } from '../../../net/memoize.ts'
import packageJson from '../../../package.json' with { type: 'json' }

/** What each POST of the service calls itself: receivers let it through, and support finds the release. */
export const USER_AGENT = `Verdict/${packageJson.version}`

interface SignedParts {
  /** The exact octets of the request's body. */
  body: Buffer
  /** `evt_...` */
  eventId: string
  /** `dsp_...` */
  dispatchId: string
  attempt: number
  /** The time of this attempt, Unix seconds. Receivers refuse requests that are more than 300 s old. */
  timestamp: number
  /** The current secret in the form that the account owner receives, `whsec_...`. */
  secret: string
  /** The secret that the last rotation replaced, while it is still valid. */
  previousSecret?: string
}

const PREFIX = 'whsec_'

/**
 * The headers of one attempt, with two signatures. The service's own is keyed with the text of the whole secret. That
 * of Standard Webhooks (https://www.standardwebhooks.com) is keyed with the octets that the secret encodes. While a
 * rotated secret is valid, both secrets sign.
 */
export function signedHeaders(parts: SignedParts): Record<string, string> {
  const { body, eventId, secret, previousSecret } = parts
  const timestamp = String(parts.timestamp)
  const own = (secret: string) => hmac(keysOf(secret).own, `${timestamp}.`, body).digest('hex')
  const standard = (secret: string) =>
    `v1,${hmac(keysOf(secret).standard, `${eventId}.${timestamp}.`, body).digest('base64')}`
  const headers = headersOf(parts, own(secret), standard(secret))
  if (previousSecret !== undefined) {
    headers['Service-Signature-Previous'] = own(previousSecret)
    headers['webhook-signature'] += ` ${standard(previousSecret)}`
  }
  return headers
}

type UnsignedParts = Pick<SignedParts, 'eventId' | 'dispatchId' | 'attempt' | 'timestamp'>

function headersOf(parts: UnsignedParts, own: string, standard: string): Record<string, string> {
  const { eventId, dispatchId, attempt } = parts
  const timestamp = String(parts.timestamp)
  return {
    'Content-Type': 'application/json',
    'User-Agent': USER_AGENT,
    'Service-Signature': own,
    'Service-Timestamp': timestamp,
    'Service-Event-Id': eventId,
    'Service-Attempt': String(attempt),
    'Service-Dispatch-Id': dispatchId,
    'webhook-id': eventId,
    'webhook-timestamp': timestamp,
    'webhook-signature': standard,
  }
}

const HIDDEN = '(signed)'

/** The headers of an attempt as they are shown later. Its signatures stay hidden. */
export const shownHeaders = (parts: UnsignedParts): Record<string, string> => headersOf(parts, HIDDEN, HIDDEN)

/** When an attempt was signed, Unix seconds: at its start. */
export const timestampOf = (startedAtMs: number): number => Math.floor(startedAtMs / 1_000)

/** Creates a random secret of 256 bits, the output length of HMAC-SHA256: RFC 2104 advises no less. */
export function newSecret(): string {
  return `${PREFIX}${randomBytes(32).toString('base64')}`
}

/** Returns both HMAC keys of a secret. They are cached, because creating them costs as much as a signature. */
const keysOf = memoize((secret) => ({
  own: createSecretKey(Buffer.from(secret)),
  standard: createSecretKey(secret.slice(PREFIX.length), 'base64'),
}))

function hmac(key: KeyObject, prefix: string, body: Buffer) {
  return createHmac('sha256', key).update(prefix).update(body)
}
