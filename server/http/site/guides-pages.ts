import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { fail } from '../../errors.ts'
import type { Admit } from '../admission.ts'
import { BUILT_GUIDES, type BuiltFile, HOME, readBuiltFiles, sendFile } from './built-files.ts'

const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

const HEADERS = {
  'content-security-policy': POLICY,
  'referrer-policy': 'same-origin',
  'cache-control': 'max-age=3600',
}

export interface GuidesPagesParts {
  /** Counts a caller who asks for a page that does not exist. */
  visit: Admit
  /** The folder that `npm run build` writes. */
  folder?: string
}

/**
 * The guides at `/guides` and the reference of the API among them, where `/docs` leads: pages, images and examples.
 * They need no key and load nothing from another origin.
 */
export function guidesPages(fastify: FastifyInstance, { visit, folder = BUILT_GUIDES }: GuidesPagesParts): void {
  let files: Map<string, BuiltFile> | undefined
  const read = async () => {
    files ??= await readBuiltFiles(folder).catch(() => undefined)
    return files
  }

  // For a person who has nothing but the address of the service.
  fastify.get('/', async (request, reply) => {
    const home = (await read())?.get(HOME)
    if (home) return sendFile(reply.headers(HEADERS), home, request.headers['accept-encoding'])
    reply.code(302).header('location', 'docs')
    return 'See /docs.\n'
  })

  // Relative addresses, so that they hold below any prefix of a proxy.
  fastify.get('/docs', async (_, reply) => {
    reply.code(302).header('location', 'guides/reference/')
    return 'See /guides/reference/.\n'
  })
  fastify.get('/guides', async (_, reply) => {
    reply.code(302).header('location', 'guides/')
    return 'See /guides/.\n'
  })
  fastify.get('/guides/*', async (request: FastifyRequest<{ Params: { '*': string } }>, reply: FastifyReply) => {
    const files = await read()
    const path = request.params['*']
    const file = files?.get(/(^|\/)$/.test(path) ? `${path}index.html` : path) ?? files?.get(`${path}.html`)
    if (!file) {
      await visit(request.call)
      throw fail(
        'not_found',
        files ? 'There is no such guide. See /guides.' : 'The guides are not built. Run `npm run build`.',
      )
    }
    reply.headers(HEADERS)
    return sendFile(reply, file, request.headers['accept-encoding'])
  })
}
