import { randomUUID } from 'node:crypto'
import { readDomainName } from '../../server/domains/name.ts'
import { CliError } from '../command.ts'
import { explanationOf, PHASES } from '../explain.ts'
import { callExactly, query } from '../service.ts'
import type { Approve } from './approval.ts'
import { propertiesOf, propertyOf, requiredOf, responseOf, type SchemaObject } from './contract.ts'
import { messageSentence, type RecipientJson, reportsSentence } from './sentences.ts'
import { marked } from './untrusted.ts'

type Input = Record<string, unknown>

export interface Tool {
  name: string
  title: string
  description: string
  inputSchema: SchemaObject & { type: 'object' }
  annotations: { readOnlyHint?: boolean; destructiveHint: boolean; idempotentHint?: boolean; openWorldHint: boolean }
  /** Returns the result. Throws a CliError with the service's words. */
  call: (input: Input, signal: AbortSignal) => Promise<object>
}

interface Surroundings {
  url: string | undefined
  /** Absent: nothing is sent, and nothing is replayed. */
  approve: Approve | undefined
}

const READS = { readOnlyHint: true, destructiveHint: false, openWorldHint: false }
/** A dry run is stored, and changes nothing else. */
const STORES = { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false }
const ACTS = { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true }

/** No tool changes the account: its keys, people, domains, endpoints and suppression list are out of reach. */
export function createTools({ url, approve }: Surroundings): Tool[] {
  const call: CallApi = (path, body, headers) => callExactly({ url, path: `/api/v1${path}`, body, headers })
  const tools = [
    sendEmail(call, approve),
    validateEmail(call),
    getEmail(call),
    explainBounce(),
    list(call, 'list_emails', 'List emails', 'listEmails', '/emails'),
    list(call, 'list_events', 'List events', 'listEvents', '/events'),
    domainRecords(call),
  ]
  return approve ? [...tools, replay(call, approve)] : tools
}

type CallApi = (path: string, body?: object, headers?: Record<string, string>) => Promise<Record<string, unknown>>

const inputOf = (properties: Record<string, SchemaObject>, required: string[] = []): Tool['inputSchema'] => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
})

const CONFIRM = { type: 'boolean', description: '`true` when the person you work for has asked for exactly this.' }

function sendEmail(call: CallApi, approve: Approve | undefined): Tool {
  const idempotency_key = propertyOf('sendEmail', 'header', 'Idempotency-Key')
  const properties = { ...propertiesOf('sendEmail', 'body'), idempotency_key }
  const dryRun = 'Checks everything and sends nothing: live sends are off.'
  const live =
    'Sends an email and returns what the mail servers of its recipients said. Without `confirm: true` it checks everything and sends nothing.'
  return {
    name: 'send_email',
    title: 'Send an email',
    description: `${approve ? live : dryRun} The result has the idempotency key: a repeat with it sends nothing and returns the first result.`,
    inputSchema: inputOf(approve ? { ...properties, confirm: CONFIRM } : properties, requiredOf('sendEmail')),
    annotations: approve ? ACTS : STORES,
    async call({ confirm, idempotency_key: given, ...email }, signal) {
      const isLive = approve !== undefined && confirm === true
      if (isLive) await approve(questionOf(email), signal)
      const idempotencyKey = String(given ?? randomUUID())
      const headers = { 'idempotency-key': idempotencyKey, 'x-service-sandbox': String(!isLive) }
      const sent = await keyed(idempotencyKey, call('/emails/send', email, headers))
      return sendOutcome('sendEmail', sent, { idempotency_key: idempotencyKey })
    },
  }
}

/** Adds the key to a failure: without a response the email may have been sent, and a repeat must have the key. */
async function keyed<Response>(idempotencyKey: string, response: Promise<Response>): Promise<Response> {
  try {
    return await response
  } catch (error) {
    if (!(error instanceof CliError)) throw error
    throw new CliError(error.exit, error.message, { ...error.json, idempotency_key: idempotencyKey })
  }
}

/** What the person is asked before a live send: everything that says who gets it, and from whom. */
function questionOf({ from, to, cc, bcc, subject, raw }: Input): string {
  const lines = Object.entries({ From: from, To: to, Cc: cc, Bcc: bcc, Subject: subject }).flatMap(([name, value]) =>
    value === undefined || value === null ? [] : [`${name}: ${[value].flat().map(shown).join(', ')}`],
  )
  return ['Send this email?', ...lines, ...(raw ? ['It is a whole message, with headers of its own.'] : [])].join('\n')
}

/** One line, so that no value looks like a further header. */
function shown(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text.replace(/\s+/g, ' ').slice(0, 1_000)
}

const validateEmail = (call: CallApi): Tool => ({
  name: 'validate_email',
  title: 'Check an email',
  description: 'Makes every check of a send, and sends nothing.',
  inputSchema: inputOf(propertiesOf('validateEmail', 'body'), requiredOf('validateEmail')),
  annotations: STORES,
  call: async (email) => sendOutcome('validateEmail', await call('/emails/validate', email)),
})

/** The outcome of a send after the sentence about it. */
function sendOutcome(operationId: string, response: Record<string, unknown>, more: object = {}): object {
  const { recipients, sandbox, ...sole } = response as unknown as RecipientJson & {
    recipients?: RecipientJson[]
    sandbox?: boolean
  }
  const sentence = messageSentence(recipients ?? [sole], sandbox ?? false)
  return { sentence, ...more, ...(marked(response, responseOf(operationId)) as object) }
}

const getEmail = (call: CallApi): Tool => ({
  name: 'get_email',
  title: 'Show an email',
  description:
    'Returns a stored email: a sentence about its outcome, what the mail server of each recipient said, and what was reported later.',
  inputSchema: inputOf({ message_id: propertyOf('getEmail', 'path', 'id') }, ['message_id']),
  annotations: READS,
  async call({ message_id }) {
    const email = await call(`/emails/${encodeURIComponent(String(message_id))}`)
    const { recipients, sandbox, feedback } = email as unknown as {
      recipients: RecipientJson[]
      sandbox: boolean
      feedback: { recipient: string; kind: string }[]
    }
    const sentence = messageSentence(recipients, sandbox)
    const later = reportsSentence(feedback)
    return { sentence, ...(later && { later }), ...(marked(email, responseOf('getEmail')) as object) }
  },
})

const explainBounce = (): Tool => ({
  name: 'explain_bounce',
  title: "Explain a mail server's reply",
  description:
    'Says how a reply of a mail server is read: the outcome, what the reply speaks of, and whether it suppresses the address.',
  inputSchema: inputOf(
    {
      reply: { type: 'string', description: 'The reply with its codes, such as `550 5.1.1 User unknown`.' },
      phase: {
        type: 'string',
        enum: [...PHASES],
        description: 'The command that it answers; `late` for a bounce that came after 250. Default: `rcpt`.',
      },
      mx: { type: 'string', description: 'The name of the server.' },
      recipient: { type: 'string', description: 'The address of the recipient.' },
    },
    ['reply'],
  ),
  annotations: READS,
  async call({ reply, phase = 'rcpt', mx = '', recipient }) {
    const known = PHASES.find((one) => one === phase)
    if (!known)
      throw new CliError('usage', `phase: must be one of ${PHASES.join(', ')}`, { error: 'invalid_arguments' })
    if (String(reply).length > LONGEST_REPLY)
      throw new CliError('usage', `reply: must have at most ${LONGEST_REPLY} characters`, {
        error: 'invalid_arguments',
      })
    return explanationOf(String(reply), { phase: known, mx: String(mx), recipient: recipient as string | undefined })
  },
})

/** Longer than any reply that a mail server sends. */
const LONGEST_REPLY = 10_000

const list = (call: CallApi, name: string, title: string, operationId: string, path: string): Tool => ({
  name,
  title,
  description: `${title.replace('List', 'Lists')}, newest first, that match every filter given.`,
  inputSchema: inputOf(propertiesOf(operationId, 'query')),
  annotations: READS,
  async call(filters) {
    const given = Object.entries(filters).filter(([, value]) => value !== null)
    const parameters = Object.fromEntries(
      given.map(([field, value]) => [
        field,
        typeof value === 'object' ? (value as Record<string, string>) : String(value),
      ]),
    )
    return marked(await call(path + query(parameters)), responseOf(operationId)) as object
  },
})

const domainRecords = (call: CallApi): Tool => ({
  name: 'domain_records',
  title: 'Show the DNS records of a domain',
  description: 'Returns the DNS records that a sending domain needs, and what DNS had at the last check.',
  inputSchema: inputOf({ domain: propertyOf('createDomain', 'body', 'domain') }, ['domain']),
  annotations: READS,
  async call({ domain }) {
    const { domains } = (await call('/domains')) as { domains: { domain: string }[] }
    const name = readDomainName(String(domain).trim())
    const found = domains.find((one) => one.domain === name)
    if (!found) {
      const names = domains.map((one) => one.domain).join(', ') || 'none'
      throw new CliError('not_found', `the account has no such domain. It has: ${names}`, { error: 'not_found' })
    }
    return marked(found, responseOf('getDomain')) as object
  },
})

const replay = (call: CallApi, approve: Approve): Tool => ({
  name: 'replay',
  title: 'Send events to webhook endpoints again',
  description:
    'Sends a stored event, or all stored events of a message, to the webhook endpoints again. It sends no email.',
  inputSchema: inputOf(
    {
      event_id: propertyOf('replayEvent', 'path', 'event_id'),
      message_id: propertyOf('replayMessage', 'path', 'message_id'),
      endpoint_id: propertyOf('replayEvent', 'body', 'endpoint_id'),
      confirm: CONFIRM,
    },
    ['confirm'],
  ),
  annotations: ACTS,
  async call({ event_id, message_id, endpoint_id, confirm }, signal) {
    const faults = [
      ...(confirm === true ? [] : ['confirm: must be true']),
      ...((event_id === undefined) === (message_id === undefined) ? ['event_id, message_id: give one of them'] : []),
    ]
    if (faults.length > 0) throw new CliError('usage', faults.join('; '), { error: 'invalid_arguments' })
    const [id, kind, operationId] =
      event_id === undefined
        ? ([message_id, 'messages', 'replayMessage'] as const)
        : ([event_id, 'events', 'replayEvent'] as const)
    const where = endpoint_id ? `the endpoint ${shown(endpoint_id)}` : 'your webhook endpoints'
    await approve(`Send ${shown(id)} to ${where} again?`, signal)
    const path = `/${kind}/${encodeURIComponent(String(id))}/replay`
    return marked(await call(path, { endpoint_id }), responseOf(operationId)) as object
  },
})
