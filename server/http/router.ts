import Fastify, { type FastifyReply, type FastifyRequest } from 'fastify'
import { type ErrorReason, fail } from '../errors.ts'
import { answerError } from './answer.ts'
import { Call, type CallRecords, type RawRequest, type RawResponse } from './call.ts'
import { type Admit, allowedOf, type Endpoint, notFound, otherMethods, type Path } from './paths.ts'

const ROUTER_FAULTS: Record<string, [ErrorReason, string]> = {
  FST_ERR_BAD_URL: ['invalid_payload', 'The path is not valid percent-encoded UTF-8.'],
  FST_ERR_MAX_PARAM_LENGTH: ['not_found', 'There is nothing at this path: a part of it is too long.'],
}

/**
 * Fastify as router: each request becomes a call and goes to the endpoint of its path and method, a failure to the documented body.
 * Every other method of a path has a route too, so that a literal path wins over a parameter for all of them: GET /emails/send is
 * no GET /emails/{id}. `visit` counts what leads to no endpoint.
 */
export async function createRouter(paths: Path[], visit: Admit, trustProxy: string[], records: CallRecords) {
  const begin = (request: FastifyRequest, reply: FastifyReply) => {
    reply.hijack()
    return new Call(request.raw, reply.raw, request.ip ?? '', records)
  }
  const fastify = Fastify({
    trustProxy: trustProxy.length > 0 ? trustProxy : false,
    routerOptions: { querystringParser: () => ({}), maxParamLength: 500 },
    frameworkErrors(error, request, reply) {
      const fault = ROUTER_FAULTS[error.code]
      const handler = async () => Promise.reject(fault ? fail(...fault) : error)
      run({ admit: visit, handler }, begin(request, reply), {})
    },
  })
  // Handlers read bodies themselves, under limits that hold for every protocol.
  for (const method of fastify.supportedMethods) {
    fastify.addHttpMethod(method, { hasBody: false, overrideExisting: true })
  }

  const answers = (endpoint: Endpoint, path?: string) => (request: FastifyRequest, reply: FastifyReply) => {
    const call = begin(request, reply)
    call.path = path
    call.method = endpoint.method
    run(endpoint, call, request.params as Record<string, string>)
  }
  for (const { path, verbs } of paths) {
    const url = path.replaceAll(/\{([^}]*)\}/g, ':$1')
    for (const [method, endpoint] of Object.entries(verbs)) {
      fastify.route({ method, url, handler: answers(endpoint, path), exposeHeadRoute: method === 'GET' })
    }
    const others = fastify.supportedMethods.filter(
      (method) => method === 'OPTIONS' || !allowedOf(verbs).includes(method),
    )
    const handler = answers({ admit: visit, handler: otherMethods(verbs) }, path)
    fastify.route({ method: others, url, handler, exposeHeadRoute: false })
  }
  fastify.setNotFoundHandler(answers({ admit: visit, handler: notFound(paths) }))
  await fastify.ready()
  return (request: RawRequest, response: RawResponse) => fastify.routing(request as never, response as never)
}

async function run({ admit, handler }: Endpoint, call: Call, params: Record<string, string>): Promise<void> {
  try {
    await admit?.(call)
    await handler(call, params)
  } catch (error) {
    answerError(error, call)
  } finally {
    // Its work has ended: nothing holds what it read, however slowly its caller takes the response.
    call.release?.()
  }
}
