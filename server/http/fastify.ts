import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest, type RouteOptions } from 'fastify'
import { FairTurns } from '../../net/fair-turns.ts'
import { networkOf } from '../../net/network.ts'
import { callerKey } from '../caller.ts'
import { type ErrorReason, fail } from '../errors.ts'
import type { Admit } from './admission.ts'
import { Call, type CallRecords } from './call.ts'
import { faultOfHeaders } from './listener/header-fault.ts'
import { sendError } from './rest/rest-response.ts'
import { isGrpc, refuseRpc } from './rpc/rpc-refusal.ts'

const ROUTER_FAULTS: Record<string, [ErrorReason, string]> = {
  FST_ERR_BAD_URL: ['invalid_payload', 'The path is not valid percent-encoded UTF-8.'],
  FST_ERR_MAX_PARAM_LENGTH: ['not_found', 'There is nothing at this path: a part of it is too long.'],
}

/** No route has a schema. Without these, Fastify loads Ajv and its serializer, a tenth of the work of a start. */
const NO_COMPILERS = { buildValidator: neverBuilt, buildSerializer: neverBuilt }

function neverBuilt(): never {
  throw new Error('a route has a schema: give Fastify its compilers')
}

export interface FastifyParts {
  /** Addresses and ranges of proxies whose X-Forwarded-For counts. */
  trustProxy: string[]
  records: CallRecords
  /** Counts a request whose path the router cannot read. */
  visit: Admit
  /** Callers who are not known share the turns of one account. */
  turns?: FairTurns
}

/** Fastify with what all protocols share: `request.call`, and REST's body for every error. */
export function createFastify({ trustProxy, records, visit, turns = new FairTurns() }: FastifyParts) {
  const begin = (request: FastifyRequest, reply: FastifyReply) => {
    request.call = new Call(request, reply, records)
  }
  const fastify = Fastify({
    trustProxy: trustProxy.length > 0 ? trustProxy : false,
    schemaController: { compilersFactory: NO_COMPILERS },
    routerOptions: { querystringParser: () => ({}), maxParamLength: 500 },
    // The router fails before any hook runs.
    frameworkErrors(error, request, reply) {
      begin(request, reply)
      const fault = ROUTER_FAULTS[error.code]
      const respond = (cause: unknown) => refuse(cause, request, reply)
      visit(request.call).then(() => respond(fault ? fail(...fault) : error), respond)
    },
  })
  // Handlers read bodies themselves, under limits that hold for every protocol.
  for (const method of fastify.supportedMethods) {
    fastify.addHttpMethod(method, { hasBody: false, overrideExisting: true })
  }
  fastify.decorateRequest('call')
  fastify.addHook('onRoute', giveBackAtEnd)
  fastify.addHook('onRequest', (request, reply, done) => {
    begin(request, reply)
    // Thrown here, the error has the form of its route's protocol.
    const fault = faultOfHeaders(request.raw)
    if (fault === undefined) done()
    else done(fail('invalid_payload', fault))
  })
  // What is refused before its caller is known costs as much as what the gate refuses.
  fastify.addHook('onError', async ({ call: { values, remoteAddress } }) => {
    if (!values.get(callerKey)) await turns.takeAsStranger(networkOf(remoteAddress))
  })
  fastify.setErrorHandler(refuse)
  return fastify
}

/** Whatever a call has taken to do its work, it gives back when that has ended, on every route. */
export function giveBackAtEnd(route: RouteOptions): void {
  const { handler } = route
  async function handleAndGiveBack(this: FastifyInstance, request: FastifyRequest, reply: FastifyReply) {
    try {
      return await handler.call(this, request, reply)
    } finally {
      request.call.release?.()
    }
  }
  route.handler = handleAndGiveBack
}

/** Refuses a request that has no route of its own, in the protocol of its caller. */
function refuse(error: unknown, request: FastifyRequest, reply: FastifyReply): void {
  if (isGrpc(request.call)) refuseRpc(error, request, reply)
  else sendError(error, request, reply)
}
