import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eq } from '../../server/db/drizzle.ts'
import { dispatches, messages, openDispatches } from '../../server/db/schema.ts'
import { startTemporal, type TestTemporal } from '../harness/temporal.ts'
import { openFolder } from './daemon.ts'
import { startNsd } from './nsd.ts'
import { type Account, createSender, type Product, SENDER_DOMAIN, startProduct } from './product.ts'

const DOCUMENT = resolve('docs/openapi.json')
const REDOCLY = '@redocly/cli@2.77.0'
const SPECTRAL = '@stoplight/spectral-cli@6.16.3'
const DOWNLOAD_MS = 240_000

let folder: string

beforeAll(async () => {
  folder = await openFolder('openapi')
})

/** Runs a command in a temporary folder, because some commands leave files. */
async function run(command: string, ...args: string[]): Promise<{ status: number | null; output: string }> {
  const env = { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' }
  const child = spawn(command, args, { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text) => {
      output += text
    })
  }
  const [status] = await once(child, 'close')
  return { status, output }
}

function npmExec(name: string, ...command: string[]) {
  return run('npm', 'exec', '--yes', `--package=${name}`, '--', ...command)
}

test(
  'redocly finds no error in the OpenAPI document',
  async () => {
    const { status, output } = await npmExec(REDOCLY, 'redocly', 'lint', DOCUMENT)
    expect(output).toContain('Your API description is valid')
    expect(status, output).toBe(0)
  },
  DOWNLOAD_MS,
)

test(
  'spectral finds no error in the OpenAPI document',
  async () => {
    const ruleset = resolve('test/real/spectral.yaml')
    const { status, output } = await npmExec(
      SPECTRAL,
      'spectral',
      'lint',
      DOCUMENT,
      '--ruleset',
      ruleset,
      '--fail-severity=error',
    )
    expect(output).toMatch(/No results with a severity of 'error' found|0 errors/)
    expect(status, output).toBe(0)
  },
  DOWNLOAD_MS,
)

let account: Account
let nsd: Awaited<ReturnType<typeof startNsd>>
let product: Product
let temporal: TestTemporal

/**
 * The only DNS server has no name but the sender's, and webhooks go to a proxy that is down, so nothing leaves the
 * machine.
 */
async function startProductWithoutInternet(): Promise<void> {
  account = await createSender(SENDER_DOMAIN)
  nsd = await startNsd({ '.': account.zone })
  temporal = await startTemporal()
  product = await startProduct(account, {
    DNS_SERVERS: nsd.address,
    SMTP_PORT: '1',
    TEMPORAL_ADDRESS: temporal.address,
    WEBHOOK_PROXY: 'http://127.0.0.1:1',
  })
}

afterAll(async () => {
  await temporal?.stop()
})

const SIMULATED = ['delivered', 'mailbox_full', 'mailbox_does_not_exist', 'spam_blocked', 'invalid_address', 'nobody+x']

/**
 * Values that reach more code than generated ones. The document describes in prose what a valid address, time, file or
 * header is, and how long values may be, so a request that matches the schema may still be refused with 400. An expired
 * id is 410. A replay without an endpoint is 409. A batch reports the faults of one message in a response of 200. A
 * call for changes waits as long as it is asked to, which would take most of the time.
 */
const configuration = (messageId: string, eventId: string) => `
request-timeout = 30.0
[checks.positive_data_acceptance]
expected-statuses = ["2xx", 400, 401, 403, 404, 409, 410]
[dictionaries.senders]
values = ["orders@${SENDER_DOMAIN}", "Shop <orders@${SENDER_DOMAIN}>"]
[dictionaries.recipients]
values = ${JSON.stringify(SIMULATED.map((local) => `${local}@simulator.test`))}
[dictionaries.messages]
values = ["${messageId}"]
[dictionaries.events]
values = ["${eventId}"]
[dictionaries.waits]
values = [0, 1]
[parameters]
"query.wait_s" = { dictionary = "waits", probability = 0.98 }
"body.from" = { dictionary = "senders", probability = 0.9 }
"body.to" = { dictionary = "recipients", probability = 0.9 }
"path.id" = { dictionary = "messages", probability = 0.5 }
"path.message_id" = { dictionary = "messages", probability = 0.5 }
"path.event_id" = { dictionary = "events", probability = 0.5 }
[[operations]]
include-path = "/api/v1/emails/batch"
checks.negative_data_rejection.enabled = false
`

// Sequences of operations come first: the other parts delete what a sequence has created, which would end it.
const SEQUENCES = ['--phases', 'stateful']
// Schemathesis uses one processor, so two processes share the operations by themselves.
const ALONE = ['--phases', 'examples,coverage,fuzzing']
const EMAILS = '^/api/v1/emails'
const PARTS = [
  [...ALONE, '--include-path-regex', EMAILS],
  [...ALONE, '--exclude-path-regex', EMAILS],
]

type Document = { paths: Record<string, Record<string, { parameters?: { name?: string }[] }>> }

/** A repeated Idempotency-Key gets its first response whatever the body is, which would hide the faults of the body. */
function withoutKeys(document: unknown): unknown {
  for (const operation of Object.values((document as Document).paths).flatMap((path) => Object.values(path))) {
    operation.parameters = operation.parameters?.filter(({ name }) => name !== 'Idempotency-Key')
  }
  return document
}

async function setEndpoint(): Promise<void> {
  const headers = { authorization: `Bearer ${account.key}`, 'content-type': 'application/json' }
  const body = '{"url":"https://hooks.example.com/email"}'
  await fetch(`${product.api.url}/api/v1/webhook`, { method: 'PUT', headers, body }).catch(() => {})
}

test('schemathesis finds no fault in a running instance', async () => {
  await startProductWithoutInternet()
  const { body } = await product.send({ to: 'delivered@simulator.test' })
  // Schemathesis deletes the endpoint repeatedly.
  const endpointTimer = setInterval(() => void setEndpoint(), 500)
  const { events } = await product.get(`/api/v1/events?message_id=${body.message_id}`)
  await writeFile(join(folder, 'schemathesis.toml'), configuration(body.message_id, events[0].event_id))
  const python = join(folder, 'python', 'bin')
  const requirements = resolve('test/real/requirements.txt')
  const preparations = [
    await run('/usr/bin/python3', '-m', 'venv', join(folder, 'python')),
    await run(`${python}/pip`, 'install', '--quiet', '--no-deps', '--requirement', requirements),
  ]
  for (const { status, output } of preparations) expect(status, output).toBe(0)

  const { url } = product.api
  const document = join(folder, 'document.json')
  await writeFile(document, JSON.stringify(withoutKeys(await (await fetch(`${url}/api/v1/openapi.json`)).json())))
  const key = `Authorization: Bearer ${account.key}`
  const options = ['--url', url, '--header', key, '--max-examples', '200', '--seed', '1', '--no-color']
  const play = (part: string[]) => run(`${python}/schemathesis`, 'run', document, ...options, ...part)
  const runs = [await play(SEQUENCES), ...(await Promise.all(PARTS.map(play)))]
  clearInterval(endpointTimer)
  for (const { status, output } of runs) expect(status, output).toBe(0)
  const cases = runs.map(({ output }) => Number(/Test cases:\s+(\d+) generated/.exec(output)?.[1]))
  expect(Math.min(...cases)).toBeGreaterThan(100)
  // Requests got past the validation.
  const sends = await account.database.db.$count(messages)
  expect(sends).toBeGreaterThan(20)
  // Both waiting replays and those whose endpoint was deleted.
  const counts = [openDispatches, dispatches].map((t) => account.database.db.$count(t, eq(t.kind, 'replay')))
  const replays = (await Promise.all(counts)).reduce((sum, count) => sum + count)
  expect(replays).toBeGreaterThan(5)
  console.log(`schemathesis: ${cases.join(' + ')} requests, ${sends} of them accepted as sends, ${replays} as replays`)
}, 900_000)
