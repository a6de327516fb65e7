import { Code, ConnectError, createClient } from '@connectrpc/connect'
import { compressionGzip, createConnectTransport } from '@connectrpc/connect-node'
import * as grpc from '@grpc/grpc-js'
import { loadSync } from '@grpc/proto-loader'
import { DomainService } from '../../../gen/verdict/v1/domains_pb.ts'
import { EmailService } from '../../../gen/verdict/v1/emails_pb.ts'
import { EventService } from '../../../gen/verdict/v1/events_pb.ts'
import { DeliveryStatus } from '../../../gen/verdict/v1/outcomes_pb.ts'

// Calls the service with grpc-js and connect-node, as each is installed and with its usual options. Prints the results.

const { VERDICT_URL: baseUrl = '', VERDICT_API_KEY, FROM: from = '' } = process.env
const authorization = `Bearer ${VERDICT_API_KEY}`
const message = (local: string, repeat = 1) => ({
  from,
  to: [`${local}@simulator.test`],
  subject: 'Hello',
  html: '<p>It works.</p>'.repeat(repeat),
})
const LARGE = message('delivered', 20_000)
const TIMEOUT_MS = 40_000

interface Stubs {
  verdict: {
    v1: Record<'EmailService' | 'DomainService' | 'EventService', grpc.ServiceClientConstructor>
  }
}

interface Change {
  event?: { event_id?: string; eventId?: string }
  position: string
}

/** Reads two events from the beginning, and the second one again after the position of the first. */
async function stream(open: (after: string) => AsyncIterable<{ events?: Change[] }>): Promise<string> {
  async function read(after: string, count: number) {
    const found: Change[] = []
    for await (const { events = [] } of open(after)) {
      found.push(...events)
      if (found.length >= count) break
    }
    return found
  }
  const idOf = ({ event }: Change) => event!.event_id ?? event!.eventId
  const [first, second] = await read('begin', 2)
  const [again] = await read(first!.position, 1)
  return idOf(again!) === idOf(second!) ? 'resumed' : 'differs'
}

async function withGrpcJs() {
  const options = { keepCase: true, enums: String, includeDirs: ['proto'] }
  const files = ['emails', 'domains', 'events'].map((name) => `verdict/v1/${name}.proto`)
  const { EmailService, DomainService, EventService } = (
    grpc.loadPackageDefinition(loadSync(files, options)) as unknown as Stubs
  ).verdict.v1
  const metadata = new grpc.Metadata()
  metadata.set('authorization', authorization)
  const host = new URL(baseUrl).host
  const open = (Service: grpc.ServiceClientConstructor, more = {}) =>
    new Service(host, grpc.credentials.createInsecure(), more)
  // biome-ignore lint/suspicious/noExplicitAny: a response without types
  const call = (client: grpc.Client & Record<string, any>, method: string, request: object, timeoutMs = TIMEOUT_MS) =>
    // biome-ignore lint/suspicious/noExplicitAny: a response without types
    new Promise<any>((resolve, reject) => {
      client[method](
        request,
        metadata,
        { deadline: Date.now() + timeoutMs },
        (error: Error | null, response: object) => (error ? reject(error) : resolve(response)),
      )
    })
  const send = (client: grpc.Client, request: object, timeoutMs?: number) =>
    call(client, 'Send', request, timeoutMs).then(
      ({ status }) => status as string,
      ({ code }) => grpc.status[code]!.toLowerCase(),
    )
  const plain = open(EmailService)
  const packing = open(EmailService, { 'grpc.default_compression_algorithm': grpc.compressionAlgorithms.gzip })
  const patient = open(EmailService, { 'grpc.keepalive_time_ms': 1_000, 'grpc.keepalive_permit_without_calls': 1 })
  return {
    defaults: await send(plain, message('delivered')),
    large: await send(plain, LARGE),
    compressed: await send(packing, LARGE),
    domains: (await call(open(DomainService), 'ListDomains', {})).domains.length,
    fault: await send(packing, {}),
    deadline: await send(plain, message('connection_timeout'), 500),
    keepalive: await send(patient, message('connection_timeout')),
    stream: await stream((after) => open(EventService).StreamEvents!({ after }, metadata)),
  }
}

const nameOf = (status: DeliveryStatus) => Object.entries(DeliveryStatus).find(([, value]) => value === status)![0]

async function withConnectNode() {
  const plain = createConnectTransport({ baseUrl, httpVersion: '2' })
  const packing = createConnectTransport({ baseUrl, httpVersion: '2', sendCompression: compressionGzip })
  const patient = createConnectTransport({ baseUrl, httpVersion: '2', pingIntervalMs: 1_000, pingIdleConnection: true })
  const headers = { authorization }
  const send = (transport: typeof plain, request: object, timeoutMs = TIMEOUT_MS) =>
    createClient(EmailService, transport)
      .send(request, { headers, timeoutMs })
      .then(
        ({ status }) => `DELIVERY_STATUS_${nameOf(status)}`,
        (error) => Code[ConnectError.from(error).code]!.replaceAll(/(?<=.)(?=[A-Z])/g, '_').toLowerCase(),
      )
  return {
    defaults: await send(plain, message('delivered')),
    large: await send(plain, LARGE),
    compressed: await send(packing, LARGE),
    domains: (await createClient(DomainService, plain).listDomains({}, { headers })).domains.length,
    fault: await send(packing, {}),
    deadline: await send(plain, message('connection_timeout'), 500),
    keepalive: await send(patient, message('connection_timeout')),
    stream: await stream((after) => createClient(EventService, plain).streamEvents({ after }, { headers })),
  }
}

const [grpcJs, connectNode] = await Promise.all([withGrpcJs(), withConnectNode()])
console.log(JSON.stringify({ 'grpc-js': grpcJs, 'connect-node': connectNode }))
process.exit()
