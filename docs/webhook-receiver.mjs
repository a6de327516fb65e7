// A complete webhook receiver. It needs only Node 18 or later:
//   WEBHOOK_SECRET=whsec_... PORT=8090 node docs/webhook-receiver.mjs

import { createHmac, timingSafeEqual } from 'node:crypto'
import { realpathSync } from 'node:fs'
import { createServer } from 'node:http'
import { fileURLToPath } from 'node:url'

const { WEBHOOK_SECRET, PORT = '8090' } = process.env
const seen = new Set()

/** Returns 200 for a request from the service, 401 for a wrong signature, 400 for a time too far from the clock. */
export function check(body, headers, secret, now = Date.now()) {
  const timestamp = headers['service-timestamp'] ?? ''
  const expected = createHmac('sha256', secret).update(`${timestamp}.`).update(body).digest('hex')
  const isSigned = ['service-signature', 'service-signature-previous'].some((name) => {
    const given = Buffer.from(headers[name] ?? '')
    return given.length === expected.length && timingSafeEqual(given, Buffer.from(expected))
  })
  if (!isSigned) return 401
  return Math.abs(now / 1000 - Number(timestamp)) <= 300 ? 200 : 400
}

async function receive(request, response) {
  const chunks = []
  for await (const chunk of request) chunks.push(chunk)
  // The raw bytes: JSON that is parsed and serialised again may differ.
  const body = Buffer.concat(chunks)
  const status = check(body, request.headers, WEBHOOK_SECRET)
  // An event counts as handled once it is answered with 200, and comes again otherwise.
  if (status === 200) handle(JSON.parse(body))
  response.writeHead(status).end()
}

// Later versions of the service may add kinds of events.
const KINDS = ['email.delivery', 'email.feedback', 'webhook.test']

function handle(event) {
  if (!KINDS.includes(event.event)) return
  const isRepeated = seen.has(event.event_id)
  seen.add(event.event_id)
  console.log(JSON.stringify(isRepeated ? { ...event, repeated: true } : event))
}

// Whether this file was started, and not imported. A path may lead through a symbolic link.
if (process.argv[1] && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  if (!WEBHOOK_SECRET?.startsWith('whsec_')) {
    console.error('Set WEBHOOK_SECRET to the secret of the endpoint (whsec_...). PUT /api/v1/webhook shows it once.')
    process.exit(1)
  }
  createServer((request, response) => {
    // Without a response, the event comes again.
    receive(request, response).catch(() => response.destroy())
  }).listen(Number(PORT), '127.0.0.1')
}
