import { createHmac } from 'node:crypto'
import type { EndpointEntry } from './logs.ts'
import type { Finding } from './statements.ts'
import type { Post, WebhookBook } from './webhook-book.ts'

/**
 * Statement 12: the holder of an endpoint's secret can verify the octets of every POST, with either signature scheme.
 */
export function* everySignatureVerifies({
  posts,
  dispatch,
  webhooks,
  statesReadBefore,
}: WebhookBook): Iterable<Finding> {
  for (const post of posts) {
    const endpoint = dispatch(post.dispatch)?.endpoint
    if (endpoint === undefined) continue
    const changes = webhooks.endpoints.filter((entry) => entry.endpoint === endpoint)
    const signers = statesReadBefore(endpoint, post.arrivedMs).map((entry) => secretsOf(changes, entry))
    if (!signers.some((secrets) => isSignedWith(post, secrets))) yield ['a signature that does not verify', post]
    if (
      post.headers['webhook-id'] !== post.event ||
      post.headers['webhook-timestamp'] !== post.headers['service-timestamp']
    )
      yield ['the headers of the two schemes differ', post]
  }
}

/** The endpoint's secret and, after a rotation, the previous one. */
function secretsOf(entries: EndpointEntry[], entry: EndpointEntry): string[] {
  const secrets: string[] = []
  for (const { url, secret } of entries.slice(0, entries.indexOf(entry) + 1)) {
    if (url === undefined) secrets.length = 0
    else if (secret !== secrets[0]) secrets.unshift(secret!)
  }
  return secrets.slice(0, 2)
}

/**
 * The scheme of https://www.standardwebhooks.com signs with the octets that a secret encodes, our own scheme with its
 * text.
 */
function isSignedWith({ headers, body }: Post, secrets: string[]): boolean {
  const time = headers['service-timestamp']
  const own = secrets.map((secret) => hmac(secret, `${time}.`, body).toString('hex'))
  const standard = secrets.map((secret) => {
    const key = Buffer.from(secret.replace('whsec_', ''), 'base64')
    return `v1,${hmac(key, `${headers['webhook-id']}.${time}.`, body).toString('base64')}`
  })
  return (
    secrets.length > 0 &&
    headers['service-signature'] === own[0] &&
    headers['service-signature-previous'] === own[1] &&
    headers['webhook-signature'] === standard.join(' ')
  )
}

function hmac(key: string | Buffer, prefix: string, body: string): Buffer {
  return createHmac('sha256', key).update(prefix).update(Buffer.from(body, 'base64')).digest()
}
