import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import * as grpc from '@grpc/grpc-js'
import { loadSync } from '@grpc/proto-loader'
import { beforeAll, expect, test } from 'vitest'
import { startNsd } from './nsd.ts'
import { type Account, createSender, type Product, SENDER_DOMAIN, startProduct } from './product.ts'

// Three clients without code of this project: plain curl, buf curl with reflection, grpc-js with the proto files.

type Json = Record<string, unknown>
interface Client {
  send(message: Json): Promise<Json>
  getEmail(id: string): Promise<Json>
}

let account: Account
let nsd: Awaited<ReturnType<typeof startNsd>>
let product: Product
let clients: Record<'curl' | 'buf curl' | 'grpc-js', Client>

beforeAll(async () => {
  account = await createSender()
  nsd = await startNsd({ '.': '' })
  product = await startProduct(account, { DNS_SERVERS: nsd.address })
  clients = { curl: curl(), 'buf curl': bufCurl(), 'grpc-js': grpcJs() }
})

const run = promisify(execFile)

function curl(): Client {
  const call = async (path: string, ...more: string[]) => {
    const { stdout } = await run('curl', [
      '-sS',
      '-H',
      `Authorization: Bearer ${account.key}`,
      ...more,
      product.api.url + path,
    ])
    return JSON.parse(stdout)
  }
  return {
    send: (message) =>
      call('/api/v1/emails/send', '-H', 'Content-Type: application/json', '-d', JSON.stringify(message)),
    getEmail: (id) => call(`/api/v1/emails/${id}`),
  }
}

function bufCurl(): Client {
  const call = async (method: string, request: Json) => {
    const header = `Authorization: Bearer ${account.key}`
    const options = ['--protocol', 'grpc', '--http2-prior-knowledge', '-H', header, '-d', JSON.stringify(request)]
    const { stdout } = await run('buf', ['curl', ...options, `${product.api.url}/verdict.v1.EmailService/${method}`])
    return JSON.parse(stdout)
  }
  return { send: (message) => call('Send', message), getEmail: (id) => call('GetEmail', { id }) }
}

function grpcJs(): Client {
  const options = { keepCase: true, longs: Number, enums: String, includeDirs: ['proto'] }
  const { verdict } = grpc.loadPackageDefinition(loadSync('verdict/v1/emails.proto', options)) as unknown as {
    verdict: { v1: { EmailService: grpc.ServiceClientConstructor } }
  }
  const client = new verdict.v1.EmailService(new URL(product.api.url).host, grpc.credentials.createInsecure())
  const metadata = new grpc.Metadata()
  metadata.set('authorization', `Bearer ${account.key}`)
  const call = (method: string, request: Json) =>
    new Promise<Json>((resolve, reject) => {
      client[method]!(request, metadata, (error: Error | null, response: Json) =>
        error ? reject(error) : resolve(response),
      )
    })
  return { send: (message) => call('Send', message), getEmail: (id) => call('GetEmail', { id }) }
}

/** An outcome with the values of REST, without the fields that differ between sends. */
function outcomeOf({ status, reason, retryable, smtp }: Json) {
  const { duration_ms: _, timings: _timings, reused: _reused, tls, ...evidence } = (smtp ?? {}) as Json
  return JSON.parse(
    JSON.stringify({ status, reason, retryable, smtp: { ...evidence, tls: tls ?? undefined } }),
    (_key, value) =>
      typeof value === 'string'
        ? value.replace(/^(DELIVERY_STATUS|REASON|SMTP_PHASE|DECIDED_BY)_(\w+)$/, (_, _enum, name) =>
            name.toLowerCase(),
          )
        : value,
  )
}

const SIMULATED = {
  delivered: { status: 'delivered', smtp: { mx: 'mx.simulator.test', code: 250, enhanced: '2.0.0', phase: 'dot' } },
  mailbox_full: { status: 'bounced', reason: 'mailbox_full', smtp: { code: 452, enhanced: '4.2.2', phase: 'rcpt' } },
  spam_blocked: { status: 'bounced', reason: 'spam_blocked', smtp: { code: 554, enhanced: '5.7.1', phase: 'dot' } },
  temporary_failure: { status: 'bounced', reason: 'temporary_failure', retryable: true, smtp: { code: 451 } },
  invalid_address: { status: 'rejected', reason: 'invalid_address' },
}

test.each(Object.entries(SIMULATED))(
  'curl, buf curl and grpc-js send to %s@simulator.test and get the same response',
  async (name, outcome) => {
    const message = {
      from: `hello@${SENDER_DOMAIN}`,
      to: [`${name}@simulator.test`],
      subject: 'Hello',
      text: 'It works.',
    }
    const responses = await Promise.all(Object.values(clients).map((client) => client.send(message)))
    const [first, ...others] = responses.map(outcomeOf)
    expect(first).toMatchObject(outcome)
    expect(others).toEqual([first, first])
    expect(new Set(responses.map(({ message_id }) => message_id)).size).toBe(3)
  },
)

test('every client reads the same email back, whichever client sent it', async () => {
  const message = {
    from: `hello@${SENDER_DOMAIN}`,
    to: ['delivered@simulator.test'],
    subject: 'Hello',
    text: 'It works.',
  }
  for (const sender of Object.values(clients)) {
    const { message_id: id } = await sender.send(message)
    const emails = await Promise.all(Object.values(clients).map((client) => client.getEmail(id as string)))
    const contents = emails.map((email) => {
      const { message_id, from, to, subject, size_bytes, recipients, events } = email as Json & {
        recipients: Json[]
        events: Json[]
      }
      const outcomes = recipients.map((recipient) => [recipient.email, outcomeOf(recipient)])
      return { message_id, from, to, subject, size_bytes, outcomes, events: events.map(({ event_id }) => event_id) }
    })
    expect(contents[0]).toMatchObject({ message_id: id, from: message.from, to: message.to, subject: 'Hello' })
    expect(contents.slice(1)).toEqual([contents[0], contents[0]])
  }
})

test('a fault is an error in each protocol, with the same message', async () => {
  const message = { from: `hello@${SENDER_DOMAIN}`, to: [], subject: 'Hello', text: 'It works.' }
  const rest = await clients.curl.send(message)
  expect(rest).toMatchObject({ error: 'invalid_payload', message: expect.stringMatching(/^to /) })
  const text = String(rest.message)
  // connect-node escapes more of `grpc-message` than necessary, and grpc-js unescapes less than it should.
  const fault = await clients['grpc-js'].send(message).catch((error: grpc.ServiceError) => error as unknown as Json)
  expect({ code: fault.code, details: decodeURIComponent(String(fault.details)) }).toEqual({
    code: grpc.status.INVALID_ARGUMENT,
    details: text,
  })
  await expect(clients['buf curl'].send(message)).rejects.toMatchObject({
    stderr: expect.stringContaining(text),
  })
})
