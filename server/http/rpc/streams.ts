import { once } from 'node:events'
import type { OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { Http2ServerResponse } from 'node:http2'
import { toBinary } from '@bufbuild/protobuf'
import type { ConnectError, MethodImplSpec } from '@connectrpc/connect'
import { encodeEnvelope } from '@connectrpc/connect/protocol'
import { trailerFlag, trailerSerialize } from '@connectrpc/connect/protocol-grpc-web'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Call } from '../call.ts'
import { acceptsGzip, createMessageRead, failWith, packedWhenWorth, type RpcParts, setDeadline } from './grpc.ts'
import { InProcessRequest, inProcess, messageOf } from './in-process.ts'
import { COMPRESSED } from './rpc-body.ts'
import { endEnvelope, setStatus } from './rpc-faults.ts'

/** How a protocol writes a stream of responses. */
interface Framing {
  type: string
  /** The header that names the compression of messages. */
  encoding: string
  /** The end of the body. gRPC has none: trailers follow its body. */
  end?(trailers: Headers, error: ConnectError | undefined): Uint8Array
}

/** nginx keeps a response until it is whole, unless it says so. */
const UNBUFFERED = { 'x-accel-buffering': 'no' }

const FRAMINGS: { [protocol in Call['protocol']]?: Framing } = {
  grpc: {
    type: 'application/grpc+proto',
    encoding: 'grpc-encoding',
  },
  'grpc-web': {
    type: 'application/grpc-web+proto',
    encoding: 'grpc-encoding',
    end: (trailers, error) => encodeEnvelope(trailerFlag, trailerSerialize(statusOf(trailers, error))),
  },
  connect: {
    type: 'application/connect+proto',
    encoding: 'connect-content-encoding',
    end: endEnvelope,
  },
}

/**
 * Serves a method that returns a stream. The implementation is called in process. In the protocol library each message
 * passes a chain of async iterables, which live as long as the stream and take more memory than all the rest of it.
 */
export function createStreamHandler(spec: MethodImplSpec, parts: RpcParts) {
  const { method, open } = inProcess(spec, parts.interceptors)
  const readMessage = createMessageRead(method.input, parts)

  async function respond(call: Call, request: InProcessRequest, response: StreamResponse): Promise<void> {
    for await (const message of await open(request)) {
      const bytes = toBinary(method.output, messageOf(method, message))
      const packed = response.mayPack ? await packedWhenWorth(bytes) : undefined
      if (call.left) return
      // The work has begun: nothing holds what it read.
      call.release?.()
      await response.write(encodeEnvelope(packed ? COMPRESSED : 0, packed ?? bytes), request)
    }
    if (!call.left) response.end(request)
  }

  return async ({ call }: FastifyRequest, reply: FastifyReply): Promise<void> => {
    reply.hijack()
    const response = createStreamResponse(call)
    let request: InProcessRequest | undefined
    try {
      setDeadline(call)
      request = new InProcessRequest(method, call, await readMessage(call))
      await respond(call, request, response)
    } catch (error) {
      const visible = failWith(error, call)
      if (!call.left) response.end(request, visible)
    }
  }
}

type StreamResponse = ReturnType<typeof createStreamResponse>

function createStreamResponse(call: Call) {
  const { type, encoding, end } = FRAMINGS[call.protocol]!
  const raw = call.response as ServerResponse & Http2ServerResponse
  const mayPack = acceptsGzip(call)

  function begin(request: InProcessRequest | undefined): void {
    if (raw.headersSent) return
    const packing = mayPack ? { [encoding]: 'gzip' } : undefined
    const head = { ...call.reply.getHeaders(), ...request?.headers, ...packing, ...UNBUFFERED, 'content-type': type }
    raw.writeHead(200, head as OutgoingHttpHeaders)
  }

  return {
    mayPack,
    /** Resolves when the caller's connection takes more. */
    async write(bytes: Uint8Array, request: InProcessRequest): Promise<void> {
      begin(request)
      if (raw.write(bytes)) return
      const { signal } = call
      await once(raw, 'drain', { signal }).catch((error) => {
        throw signal.aborted ? signal.reason : error
      })
    },
    end(request: InProcessRequest | undefined, error?: ConnectError): void {
      begin(request)
      const trailers = new Headers(request?.trailers)
      if (end) raw.end(end(trailers, error))
      else {
        raw.addTrailers(Object.fromEntries(statusOf(trailers, error)))
        raw.end()
      }
    },
  }
}

/** Adds the status of a call to its trailers, as gRPC writes it. */
function statusOf(trailers: Headers, error: ConnectError | undefined): Headers {
  if (error) return setStatus(trailers, error)
  trailers.set('grpc-status', '0')
  return trailers
}
