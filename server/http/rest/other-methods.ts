import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import { fail } from '../../errors.ts'
import type { Admit } from '../admission.ts'
import { isGrpc } from '../rpc/rpc-refusal.ts'

/** One path that is served. */
export interface Path {
  /** As in the contract, `/api/v1/things/{id}`. */
  path: string
  /** Its HTTP methods, without HEAD and OPTIONS. */
  verbs: string[]
}

/** The paths of all routes that are registered on an instance after this call. */
export function collectPaths(fastify: FastifyInstance): () => Path[] {
  const routes: RouteOptions[] = []
  fastify.addHook('onRoute', (route) => void routes.push(route))
  return () => {
    const verbsOf = new Map<string, string[]>()
    for (const { url, method } of routes) {
      const verbs = verbsOf.get(url) ?? []
      verbsOf.set(url, [...verbs, ...[method].flat().filter((verb) => verb !== 'HEAD')])
    }
    return Array.from(verbsOf, ([url, verbs]) => ({ path: url.replaceAll(/:([^/(]+)\(\[\^\]\+\)/g, '{$1}'), verbs }))
  }
}

interface OtherMethodsOptions {
  paths: Path[]
  /** Counts the request before it is refused. */
  visit: Admit
}

/**
 * Refuses the methods that a path does not have, and answers OPTIONS. Each of them gets a route, so that a literal path
 * wins over a parameter for all methods: GET /things/new is not GET /things/{id}.
 */
export async function otherMethods(fastify: FastifyInstance, { paths, visit }: OtherMethodsOptions): Promise<void> {
  for (const path of paths) {
    const method = fastify.supportedMethods.filter((verb) => verb === 'OPTIONS' || !allowedOf(path).includes(verb))
    fastify.route({
      method,
      url: routeOf(path.path),
      exposeHeadRoute: false,
      onRequest: async ({ call }) => {
        call.path = path.path
        await visit(call)
      },
      handler: refusal(path),
    })
  }
}

/** Responds where the router has no route: to methods unknown to it, and on paths that do not exist. */
export function createNotFoundHandler(paths: Path[], visit: Admit) {
  const refusals = paths.map((path) => ({
    pattern: new RegExp(
      `^${path.path
        .replaceAll('.', '\\.')
        .replaceAll(/\{[^}]*\}/g, '[^/]+')
        .replace('*', '.*')}$`,
    ),
    refuse: refusal(path),
  }))
  return async (request: FastifyRequest, reply: FastifyReply) => {
    await visit(request.call)
    const [url = ''] = (request.raw.url ?? '').split('?', 1)
    const match = refusals.find(({ pattern }) => pattern.test(url))
    if (match) return match.refuse(request, reply)
    const meant = url.replaceAll(/\/{2,}/g, '/').replace(/(?<=.)\/$/, '')
    const hint = refusals.some(({ pattern }) => pattern.test(meant)) && meant !== url
    const words = `There is nothing at this path. ${hint ? `Did you mean ${meant}?` : 'See /docs for those there are.'}`
    // On gRPC a method that does not exist is unimplemented.
    throw fail(isGrpc(request.call) ? 'method_not_allowed' : 'not_found', words)
  }
}

/** The path in the router's notation: `:id([^]+)` for `{id}`, which is any text but the empty one, also line breaks. */
export const routeOf = (path: string) => path.replaceAll(/\{([^}]*)\}/g, ':$1([^]+)')

function allowedOf({ verbs }: Path): string[] {
  return [...verbs, ...(verbs.includes('GET') ? ['HEAD'] : []), 'OPTIONS']
}

function refusal(path: Path) {
  const allow = allowedOf(path).join(', ')
  return async (request: FastifyRequest, reply: FastifyReply) => {
    reply.header('allow', allow)
    if (request.raw.method !== 'OPTIONS') throw fail('method_not_allowed', `This path takes ${allow}.`)
    reply.code(204).send()
  }
}
