import { createHmac, createSecretKey, type KeyObject, randomBytes } from 'node:crypto'
import { remember } from '../remember.ts'

interface Signed {
  /** Exactly what is sent. */
  body: Buffer
  /** `evt_...` */
  eventId: string
  /** `dsp_...` */
  dispatchId: string
  attempt: number
  /** Of this attempt, Unix seconds: receivers refuse what is over 300 s old. */
  timestamp: number
  /** As it was shown: `whsec_...`. */
  secret: string
  /** Still valid after a rotation. */
  previousSecret?: string
}

const PREFIX = 'whsec_'

/**
 * The headers of one attempt: a signature of our own, keyed with the text of the whole secret, and that of Standard Webhooks
 * (https://www.standardwebhooks.com), keyed with the octets that the secret encodes. While a rotated secret is valid, both sign.
 */
export function signedHeaders(signed: Signed): Record<string, string> {
  const { body, eventId, dispatchId, attempt, secret, previousSecret } = signed
  const timestamp = String(signed.timestamp)
  const own = (secret: string) => hmac(keysOf(secret).own, `${timestamp}.`, body).digest('hex')
  const standard = (secret: string) =>
    `v1,${hmac(keysOf(secret).standard, `${eventId}.${timestamp}.`, body).digest('base64')}`
  const headers: Record<string, string> = {
    'Content-Type': 'application/json',
    'User-Agent': 'Verdict',
    'Service-Signature': own(secret),
    'Service-Timestamp': timestamp,
    'Service-Event-Id': eventId,
    'Service-Attempt': String(attempt),
    'Service-Dispatch-Id': dispatchId,
    'webhook-id': eventId,
    'webhook-timestamp': timestamp,
    'webhook-signature': standard(secret),
  }
  if (previousSecret !== undefined) {
    headers['Service-Signature-Previous'] = own(previousSecret)
    headers['webhook-signature'] += ` ${standard(previousSecret)}`
  }
  return headers
}

/** 256 bits: as many as HMAC-SHA256 makes use of. */
export function newSecret(): string {
  return `${PREFIX}${randomBytes(32).toString('base64')}`
}

/** Made once for a secret: that costs as much as a signature. */
const keysOf = remember((secret) => ({
  own: createSecretKey(secret, 'utf8'),
  standard: createSecretKey(secret.slice(PREFIX.length), 'base64'),
}))

function hmac(key: KeyObject, prefix: string, body: Buffer) {
  return createHmac('sha256', key).update(prefix).update(body)
}
