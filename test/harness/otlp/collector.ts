import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { gunzipSync } from 'node:zlib'
import { loadSync } from '@grpc/proto-loader'

export interface ReceivedSpan {
  service: string
  name: string
  traceId: string
  spanId: string
  /** Empty for the first span of a trace. */
  parentSpanId: string
  links: { traceId: string; spanId: string }[]
  attributes: Record<string, unknown>
  failed: boolean
  startMs: number
  endMs: number
  /** Everything it says, to search in. */
  text: string
}

export interface Collector {
  url: string
  spans: ReceivedSpan[]
  /** The spans of a trace. */
  of(traceId: string): ReceivedSpan[]
  /** The status of every later response; 200 by default. */
  status: number
  close(): void
}

/** Starts a collector for OTLP over HTTP in protobuf, on loopback. */
export async function startCollector(): Promise<Collector> {
  const collector: Collector = {
    url: '',
    spans: [],
    status: 200,
    of: (traceId) => collector.spans.filter((span) => span.traceId === traceId),
    close: () => void server.close().closeAllConnections(),
  }
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const body = Buffer.concat(chunks)
    const isTraces = request.url === '/v1/traces' && request.headers['content-type'] === 'application/x-protobuf'
    if (isTraces && collector.status === 200) {
      collector.spans.push(...spansOf(request.headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body))
    }
    response.writeHead(isTraces ? collector.status : 404, { 'content-type': 'application/x-protobuf' }).end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  collector.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return collector
}

interface KeyValue {
  key: string
  value: Record<string, unknown>
}

interface Span {
  traceId: Buffer
  spanId: Buffer
  parentSpanId?: Buffer
  name: string
  attributes: KeyValue[]
  links: { traceId: Buffer; spanId: Buffer }[]
  status?: { code: number }
  startTimeUnixNano: string
  endTimeUnixNano: string
}

interface ExportRequest {
  resourceSpans: { resource: { attributes: KeyValue[] }; scopeSpans: { spans: Span[] }[] }[]
}

const protoFile = fileURLToPath(new URL('traces.proto', import.meta.url))
const { Export } = loadSync(protoFile, { longs: String, oneofs: true, arrays: true })[
  'otlp.TraceService'
] as unknown as {
  Export: { requestDeserialize(body: Buffer): object }
}
const decode = Export.requestDeserialize

function spansOf(body: Buffer): ReceivedSpan[] {
  const { resourceSpans } = decode(body) as ExportRequest
  return resourceSpans.flatMap(({ resource, scopeSpans }) => {
    const service = String(attributesOf(resource.attributes)['service.name'])
    return scopeSpans.flatMap(({ spans }) => spans.map((span) => received(service, span)))
  })
}

function received(service: string, span: Span): ReceivedSpan {
  return {
    service,
    name: span.name,
    traceId: span.traceId.toString('hex'),
    spanId: span.spanId.toString('hex'),
    parentSpanId: span.parentSpanId?.toString('hex') ?? '',
    links: span.links.map(({ traceId, spanId }) => ({
      traceId: traceId.toString('hex'),
      spanId: spanId.toString('hex'),
    })),
    attributes: attributesOf(span.attributes),
    failed: span.status?.code === 2,
    startMs: Number(span.startTimeUnixNano) / 1e6,
    endMs: Number(span.endTimeUnixNano) / 1e6,
    text: JSON.stringify(span),
  }
}

function attributesOf(attributes: KeyValue[]): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, plainValue(value)]))
}

function plainValue({ value: kind, ...values }: Record<string, unknown>): unknown {
  const value = values[kind as string]
  if (kind === 'intValue') return Number(value)
  if (kind !== 'arrayValue') return value
  return (value as { values: Record<string, unknown>[] }).values.map(plainValue)
}
