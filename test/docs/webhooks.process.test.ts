import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { newSecret, signedHeaders } from '../../server/webhooks/attempt/signature.ts'

// The verifiers in the guide, tested with requests as the service sends them.

const ROOT = join(import.meta.dirname, '../..')
const GUIDE = await readFile(join(ROOT, 'docs/webhooks.md'), 'utf8')
const VERIFIERS = [...GUIDE.matchAll(/^```js verify\n(.*?)^```/gms)].map(([, code]) => code!)

type Check = (body: Buffer, headers: Record<string, string>, secret: string) => number

/** Imports the code from a folder where the packages of this repository resolve. */
async function checkOf(code: string): Promise<Check> {
  const folder = await mkdtemp(join(ROOT, 'node_modules/.verify-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const file = join(folder, 'verify.mjs')
  await writeFile(file, code)
  return (await import(pathToFileURL(file).href)).check
}

const BODY = Buffer.from('{"event":"email.delivery","recipient":"jürgen@example.com"}')

function request(secret: string, more: { ageSeconds?: number; previousSecret?: string } = {}) {
  const timestamp = Math.floor(Date.now() / 1_000) - (more.ageSeconds ?? 0)
  const ids = { eventId: 'evt_01h455vb4pex5vsknk084sn02q', dispatchId: 'dsp_01h455vb4pex5vsknk084sn02r', attempt: 1 }
  const headers = signedHeaders({ ...ids, body: BODY, timestamp, secret, previousSecret: more.previousSecret })
  // Node gives a server lower-case header names.
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
}

test('the guide shows two verifiers, and the receivers contain the first', async () => {
  expect(VERIFIERS).toHaveLength(2)
  const receiver = await readFile(join(ROOT, 'docs/webhook-receiver.mjs'), 'utf8')
  const receivers = await readFile(join(ROOT, 'docs/receivers.md'), 'utf8')
  for (const part of VERIFIERS[0]!.split('\n\n')) {
    expect(receiver).toContain(part.trim())
    expect(receivers).toContain(part.trim())
  }
})

test.for(VERIFIERS.map((code, i) => ({ code, i })))(
  'verifier $i accepts a signed request and nothing else',
  async ({ code }) => {
    const check = await checkOf(code)
    const [secret, other] = [newSecret(), newSecret()]
    expect(check(BODY, request(secret), secret)).toBe(200)
    expect(check(Buffer.from(`${BODY} `), request(secret), secret)).toBe(401)
    expect(check(BODY, request(other), secret)).toBe(401)
    expect(check(BODY, {}, secret)).toBe(401)
    // During the 24 hours after a rotation.
    expect(check(BODY, request(other, { previousSecret: secret }), secret)).toBe(200)
    expect(check(BODY, request(secret, { previousSecret: other }), secret)).toBe(200)
    // An attacker replays a recorded request.
    expect(check(BODY, request(secret, { ageSeconds: 290 }), secret)).toBe(200)
    for (const ageSeconds of [310, -310]) {
      expect([400, 401]).toContain(check(BODY, request(secret, { ageSeconds }), secret))
    }
    const late = request(secret, { ageSeconds: 310 })
    const now = String(Math.floor(Date.now() / 1_000))
    const renewed = { ...late, 'service-timestamp': now, 'webhook-timestamp': now }
    expect(check(BODY, renewed, secret)).toBe(401)
  },
)
