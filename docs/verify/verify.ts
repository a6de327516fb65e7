// Verifies that a request to your webhook endpoint comes from the service. It needs only Node 18 or later, Bun or Deno.
// In Express, use `express.raw({ type: 'application/json' })`, and call `check(request.body, request.headers, secret)`.

import { createHmac, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'

const TOLERANCE_SECONDS = 300

/**
 * Returns the status to respond with: 200 for a request from the service, 401 for a wrong signature, 400 for a time too
 * far from the clock. `body` is the body as it arrived, before any JSON is parsed.
 */
export function check(body: Uint8Array, headers: IncomingHttpHeaders, secret: string, nowMs = Date.now()): number {
  const timestamp = String(headers['service-timestamp'] ?? '')
  const expected = Buffer.from(createHmac('sha256', secret).update(`${timestamp}.`).update(body).digest('hex'))
  // For 24 hours after a rotation of the secret, the second header has the signature of the previous one.
  const isSigned = ['service-signature', 'service-signature-previous'].some((name) => {
    const given = Buffer.from(String(headers[name] ?? ''))
    return given.length === expected.length && timingSafeEqual(given, expected)
  })
  if (!isSigned) return 401
  const isRecent = /^\d+$/.test(timestamp) && Math.abs(nowMs / 1_000 - Number(timestamp)) <= TOLERANCE_SECONDS
  return isRecent ? 200 : 400
}
