import type { ConnectError } from '@connectrpc/connect'
import type { FastifyInstance } from 'fastify'
import { onBehalfOf } from '../../async/on-behalf.ts'
import { fail } from '../../errors.ts'
import type { Admit } from '../admission.ts'
import { type BodyLimits, holderOf, refuseLarge } from '../body/body.ts'
import type { Call } from '../call.ts'
import { isSameOrigin } from '../own-hosts.ts'
import { readJson } from '../rest/json-body.ts'

export interface Authenticate {
  /** The paths below /api/auth that take POST. */
  paths: readonly string[]
  /** Responds to a request. Throws errors made by `fail`. */
  respond(request: {
    path: string
    headers: Record<'cookie' | 'origin' | 'referer' | 'user-agent', string | undefined>
    /** Whether the Origin header is that of this server, as the request names it. */
    sameOrigin: boolean
    body: Record<string, unknown>
    remoteAddress: string
  }): Promise<SignInResponse>
}

/** The body in JSON, or the error. Both may set cookies. */
export type SignInResponse = { cookies: string[]; json: string } | { cookies: string[]; error: ConnectError }

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
        const { remoteAddress } = call
        const sameOrigin = isSameOrigin(origin, call)
        const body = await readObject(call, limits)
        const request = { path, headers, sameOrigin, body, remoteAddress }
        const response = await onBehalfOf(holderOf(call), () => authenticate.respond(request))
        for (const value of response.cookies) reply.header('set-cookie', value)
        if ('error' in response) throw response.error
        reply.type('application/json')
        return response.json
      },
    })
  }
}

function refuseOtherTypes({ raw }: Call): void {
  if (/^application\/json\s*(;|$)/i.test(raw.headers['content-type'] ?? '')) return
  throw fail('unsupported_media_type', 'The body must be JSON: send the header "Content-Type: application/json".')
}

async function readObject(call: Call, limits: BodyLimits): Promise<Record<string, unknown>> {
  const json = await readJson(call, limits)
  if (typeof json === 'object' && json !== null && !Array.isArray(json)) return json as Record<string, unknown>
  throw fail('invalid_payload', 'The body must be a JSON object.')
}
