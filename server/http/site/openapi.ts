import { readFile } from 'node:fs/promises'
import type { FastifyInstance } from 'fastify'
import { fail } from '../../errors.ts'
import type { Admit } from '../admission.ts'
import { BUILT_OPENAPI } from './built-files.ts'

export const OPENAPI_PATH = '/api/v1/openapi.json'

export interface OpenApiPageParts {
  /** Counts a caller, with or without a key. */
  visit: Admit
  publicUrl(): string
  /** The file that `npm run build` writes. */
  file?: string
}

/** The OpenAPI document, with the base of its paths. A later build does not change what a running server serves. */
export function openApiPage(
  fastify: FastifyInstance,
  { visit, publicUrl, file = BUILT_OPENAPI }: OpenApiPageParts,
): void {
  let document: string | undefined
  fastify.get(OPENAPI_PATH, { onRequest: ({ call }) => visit(call) }, async (_, reply) => {
    const built = document ?? (await readFile(file, 'utf8').catch(() => undefined))
    if (built === undefined) throw fail('not_found', 'The document is not built. Run `npm run build`.')
    document ??= JSON.stringify({
      ...JSON.parse(built),
      servers: [{ url: publicUrl(), description: 'This server' }],
    })
    reply.type('application/json')
    return document
  })
}
