import { readFileSync } from 'node:fs'
import { expect, expectTypeOf, test } from 'vitest'
import { type BounceReason, verifyWebhook, WebhookError, type WebhookHeaders } from '../../client/verdict.ts'
import { signedHeaders } from '../../server/webhooks/attempt/signature.ts'

// The vectors in docs/verify, against the client and the guides' verifiers in TypeScript and JavaScript.
// test/real/verifiers.test.ts has those in other languages.

interface Vector {
  name: string
  status: number
  headers: Record<string, string>
  body?: string
}

const vectors = JSON.parse(readFileSync('docs/verify/vectors.json', 'utf8'))
const REQUESTS: Vector[] = vectors.requests
const SECRET: string = vectors.secret
const NOW_MS = vectors.now * 1_000

const bodyOf = ({ body = vectors.body }: Vector) => Buffer.from(body)
const lowerCase = (headers: object) =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))

/** The status that a receiver with the client responds with. */
async function statusOf(body: string | Uint8Array, headers: WebhookHeaders): Promise<number> {
  try {
    await verifyWebhook(body, headers, SECRET, NOW_MS)
    return 200
  } catch (error) {
    expect(error).toBeInstanceOf(WebhookError)
    return (error as WebhookError).status
  }
}

test('the first vector is signed as the service signs', () => {
  const ids = { eventId: 'evt_1', dispatchId: 'dsp_1', attempt: 1 }
  const headers = signedHeaders({ ...ids, body: bodyOf(REQUESTS[0]!), timestamp: vectors.now, secret: SECRET })
  expect(headers).toMatchObject(REQUESTS[0]!.headers)
})

test.for(REQUESTS)('the client responds with $status to $name', async (request) => {
  const { headers, status } = request
  const body = bodyOf(request)
  expect(await statusOf(body, new Headers(headers))).toBe(status)
  expect(await statusOf(body.toString(), headers)).toBe(status)
  expect(await statusOf(body, lowerCase(headers))).toBe(status)
})

test.for(['docs/verify/verify.ts', 'docs/webhook-receiver.mjs'])(
  '%s responds with the status of every vector',
  async (file) => {
    const { check } = await import(`../../${file}`)
    const answers = REQUESTS.map((request) => check(bodyOf(request), lowerCase(request.headers), SECRET, NOW_MS))
    expect(answers).toEqual(REQUESTS.map(({ status }) => status))
  },
)

test('the client returns the event, by its kind and its status', async () => {
  const event = await verifyWebhook(vectors.body, REQUESTS[0]!.headers, SECRET, NOW_MS)
  expect(event).toMatchObject({ event: 'email.delivery', status: 'bounced', recipient: 'jürgen@example.com' })
  if (event.event === 'email.delivery' && event.status === 'bounced') {
    expectTypeOf(event.reason).toEqualTypeOf<BounceReason>()
  }
})

test.for([
  [{}, 'the header Service-Timestamp is missing'],
  [{ 'Service-Timestamp': '1' }, 'the header Service-Signature is missing'],
] as [WebhookHeaders, string][])('the error says what is missing in %j', async ([headers, message]) => {
  await expect(verifyWebhook('{}', headers, SECRET)).rejects.toThrow(message)
})
