import type { DescMethod } from '@bufbuild/protobuf'
import type { ConnectRouter, MethodImpl, MethodImplSpec, ServiceImplSpec } from '@connectrpc/connect'
import type { UniversalHandler } from '@connectrpc/connect/protocol'
import { fastifyConnectPlugin } from '@connectrpc/connect-fastify'
import { compressionGzip } from '@connectrpc/connect-node'
import type { FastifyInstance, FastifyRequest, RouteHandlerMethod } from 'fastify'
import { refuseLarge } from '../body/body.ts'
import type { Call } from '../call.ts'
import { giveBackAtEnd } from '../fastify.ts'
import { createGrpcHandler, type RpcParts, WORTH_PACKING_BYTES } from './grpc.ts'
import { implementationOf } from './in-process.ts'
import { isPlainCall, isPlainGrpc } from './plain-call.ts'
import { BINARY_OPTIONS, requestBody } from './rpc-body.ts'
import { createGuardedHandler } from './rpc-handler.ts'
import { protocolOf, refuseRpc, tellEncodings } from './rpc-refusal.ts'
import { createStreamHandler } from './streams.ts'
import { countStream } from './streams-of-connection.ts'

/**
 * The routes of gRPC, gRPC-Web and Connect. Its hooks and its error handler hold for these routes only: each call is
 * admitted before a byte of its body is read, and each refusal speaks the protocol of its caller.
 */
export async function rpcRoutes(fastify: FastifyInstance, parts: RpcParts): Promise<void> {
  const { services, interceptors, limits, messageBytes } = parts
  const handlers = new Map<string, UniversalHandler>()

  const routes = (router: ConnectRouter) => {
    addServices(router, services)
    for (const [i, handler] of router.handlers.entries()) {
      handlers.set(handler.requestPath, handler)
      router.handlers[i] = createGuardedHandler(handler)
    }
  }
  fastify.addHook('onRoute', (route) => {
    const { method, allowedMethods } = handlers.get(route.url)!
    route.method = [...allowedMethods]
    route.onRequest = admitFirst(route.url, method, parts)
    route.handler = serveInProcess(route.handler, implementationOf(services, method), parts)
    giveBackAtEnd(route)
  })
  fastify.setErrorHandler(refuseRpc)
  await fastify.register(fastifyConnectPlugin, {
    routes,
    contextValues: ({ call }) => call.values,
    interceptors,
    readMaxBytes: messageBytes ?? limits.maxBytes,
    // The library unpacks only the messages of streams, which are short, and refuses other compressions.
    acceptCompression: [compressionGzip],
    compressMinBytes: WORTH_PACKING_BYTES,
    // An unknown field would be lost silently, here as on REST.
    jsonOptions: { ignoreUnknownFields: false, alwaysEmitImplicit: true },
    binaryOptions: BINARY_OPTIONS,
  })
}

function addServices(router: ConnectRouter, services: ServiceImplSpec[]): void {
  for (const { methods } of services) {
    for (const { method, impl } of Object.values(methods)) router.rpc(method, impl as MethodImpl<typeof method>)
  }
}

/** The plugin registers every HTTP method of a path and knows no admission. */
function admitFirst(path: string, method: DescMethod, { admit, limits }: RpcParts) {
  return async ({ call }: FastifyRequest) => {
    const { headers } = call.raw
    call.path = path
    call.method = method
    call.protocol = protocolOf(headers['content-type'])
    tellEncodings(call)
    await admit(call)
    if (method.methodKind !== 'unary') countStream(call)
    refuseLarge(Number(headers['content-length'] ?? 0), limits)
    replaceHost(call)
  }
}

/** The usual calls with one request message are served in process, and all others by the plugin. */
function serveInProcess(pluginHandler: RouteHandlerMethod, spec: MethodImplSpec, parts: RpcParts): RouteHandlerMethod {
  const own =
    spec.kind === 'unary'
      ? { serves: isPlainGrpc, handler: createGrpcHandler(spec, parts) }
      : spec.kind === 'server_streaming'
        ? { serves: isPlainCall, handler: createStreamHandler(spec, parts) }
        : undefined
  return function (request, reply) {
    if (own?.serves(request.call)) return own.handler(request, reply)
    request.body = requestBody(request.call, parts.limits)
    return pluginHandler.call(this, request, reply)
  }
}

/** The plugin builds a URL with the host of the request, and fails when it is not valid. Nothing reads the host. */
function replaceHost({ raw }: Call): void {
  raw.headers.host = 'localhost'
  if ('stream' in raw) raw.headers[':authority'] = 'localhost'
}
