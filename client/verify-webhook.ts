import type { EmailDeliveryPayload, EmailFeedbackPayload, WebhookTestPayload } from './gen/contract.ts'

/** The body of a webhook, by its kind. Ignore kinds that you do not know: later versions may add some. */
export type WebhookEvent =
  | (EmailDeliveryPayload & { event: 'email.delivery' })
  | (EmailFeedbackPayload & { event: 'email.feedback' })
  | (WebhookTestPayload & { event: 'webhook.test' })

/** Headers as fetch, Node, Express or Fastify have them. */
export type WebhookHeaders = Headers | Record<string, string | string[] | undefined>

/** A request to the webhook endpoint that is not one of the service, or too old to trust. */
export class WebhookError extends Error {
  override readonly name = 'WebhookError'
  /** The status to respond with: 401 for a wrong or missing signature, 400 for a time too far from the clock. */
  readonly status: 400 | 401

  constructor(message: string, status: 400 | 401) {
    super(message)
    this.status = status
  }
}

const TOLERANCE_SECONDS = 300
/** While both secrets of a rotation are valid, the second header has the signature of the previous one. */
const SIGNATURES = ['service-signature', 'service-signature-previous']

/**
 * Returns the event of a request that the service signed with this secret within the last 300 seconds. Throws
 * `WebhookError` for every other request. `rawBody` is the body as it arrived: JSON that was parsed and written again
 * has other bytes.
 */
export async function verifyWebhook(
  rawBody: string | Uint8Array,
  headers: WebhookHeaders,
  secret: string,
  now = Date.now(),
): Promise<WebhookEvent> {
  const timestamp = headerOf(headers, 'service-timestamp')
  const signatures = SIGNATURES.map((name) => headerOf(headers, name)).filter((signature) => signature !== undefined)
  if (timestamp === undefined) throw new WebhookError('the header Service-Timestamp is missing', 401)
  if (signatures.length === 0) throw new WebhookError('the header Service-Signature is missing', 401)
  const body = typeof rawBody === 'string' ? encode(rawBody) : rawBody
  if (!(await isSigned(body, timestamp, signatures, secret))) {
    throw new WebhookError('the signature does not match: the secret or the body is not the one that was signed', 401)
  }
  const ageSeconds = /^\d+$/.test(timestamp) ? now / 1_000 - Number(timestamp) : Number.POSITIVE_INFINITY
  if (Math.abs(ageSeconds) > TOLERANCE_SECONDS) {
    throw new WebhookError(`Service-Timestamp is more than ${TOLERANCE_SECONDS} seconds from this clock`, 400)
  }
  return JSON.parse(new TextDecoder().decode(body))
}

const encode = (text: string) => new TextEncoder().encode(text)

function headerOf(headers: WebhookHeaders, name: string): string | undefined {
  if (headers instanceof Headers) return headers.get(name) ?? undefined
  const value = Object.entries(headers).find(([given]) => given.toLowerCase() === name)?.[1]
  return Array.isArray(value) ? value[0] : value
}

async function isSigned(body: Uint8Array, timestamp: string, signatures: string[], secret: string): Promise<boolean> {
  const { subtle } = crypto
  const key = await subtle.importKey('raw', encode(secret), { name: 'HMAC', hash: 'SHA-256' }, false, ['verify'])
  const signed = joined(encode(`${timestamp}.`), body)
  // `verify` compares in constant time.
  const matches = await Promise.all(signatures.map((hex) => subtle.verify('HMAC', key, bytesOf(hex), signed)))
  return matches.includes(true)
}

function joined(head: Uint8Array, tail: Uint8Array): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(head.length + tail.length)
  all.set(head)
  all.set(tail, head.length)
  return all
}

/** The bytes of a signature, or none when it is not lower-case hex of 32 bytes: no bytes match no signature. */
function bytesOf(signature: string): Uint8Array<ArrayBuffer> {
  const pairs = /^[0-9a-f]{64}$/.test(signature) ? (signature.match(/../g) ?? []) : []
  return Uint8Array.from(pairs, (pair) => Number.parseInt(pair, 16))
}
