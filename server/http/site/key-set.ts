import type { FastifyInstance } from 'fastify'

/** Where verifiers find the public keys of receipts, below the issuer's URL. */
export const KEY_SET_PATH = '/.well-known/jwks.json'

export interface KeySet {
  /** Returns a JSON Web Key Set (RFC 7517 5). */
  read(): Promise<object>
  /** How long a verifier may cache it. */
  maxAgeSeconds: number
}

export function keySetPage(fastify: FastifyInstance, { read, maxAgeSeconds }: KeySet): void {
  fastify.get(KEY_SET_PATH, async (_, reply) => {
    const keySet = await read()
    reply.header('cache-control', `public, max-age=${maxAgeSeconds}`)
    return keySet
  })
}
