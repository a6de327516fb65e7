import type { FastifyInstance, FastifyReply } from 'fastify'
import { fail } from '../errors.ts'
import type { Admit } from './admission.ts'
import { type BodyLimits, readBody, refuseLarge } from './body.ts'
import type { Call } from './call.ts'

export interface Authenticate {
  /** The paths below /api/auth that take POST. */
  paths: readonly string[]
  /** Responds to a request. Throws errors made by `fail`. */
  respond(request: {
    path: string
    headers: Record<'cookie' | 'origin' | 'referer' | 'user-agent', string | undefined>
    /** JSON. */
    body: string
    remoteAddress: string
  }): Promise<Response>
}

interface SignInParts {
  authenticate: Authenticate
  limits: BodyLimits
  admit: Admit
}

/** The routes by which people sign in and out. They take JSON alone, which no form of another site can send. */
export async function signInRoutes(fastify: FastifyInstance, parts: SignInParts): Promise<void> {
  const { authenticate, limits, admit } = parts
  for (const path of authenticate.paths) {
    fastify.route({
      method: 'POST',
      url: `/api/auth${path}`,
      onRequest: async ({ call }) => {
        call.path = `/api/auth${path}`
        await admit(call)
        refuseOtherTypes(call)
        refuseLarge(Number(call.raw.headers['content-length'] ?? 0), limits)
      },
      handler: async ({ call }, reply) => {
        const { cookie, origin, referer, 'user-agent': userAgent } = call.raw.headers
        const headers = { cookie, origin, referer, 'user-agent': userAgent }
        const body = (await readBody(call, limits)).toString('utf8')
        const response = await authenticate.respond({ path, headers, body, remoteAddress: call.remoteAddress })
        return relay(response, reply)
      },
    })
  }
}

function refuseOtherTypes({ raw }: Call): void {
  if (/^application\/json\s*(;|$)/i.test(raw.headers['content-type'] ?? '')) return
  throw fail('unsupported_media_type', 'The body must be JSON: send the header "Content-Type: application/json".')
}

async function relay(response: Response, reply: FastifyReply): Promise<string> {
  reply.code(response.status).type('application/json')
  for (const value of response.headers.getSetCookie()) reply.header('set-cookie', value)
  return response.text()
}
