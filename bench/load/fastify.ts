import type { AddressInfo } from 'node:net'
import Fastify from 'fastify'
import { startWorker, type Worker, work } from './process.ts'

/** Starts a Fastify server that only reads and writes JSON of the same sizes: no key, no checks, no log. */
export function startFastify(): Promise<Worker<null, number>> {
  return startWorker(import.meta.filename)
}

async function serve(): Promise<number> {
  const fastify = Fastify()
  fastify.post('/api/v1/emails/send', async () => ({
    status: 'delivered',
    message_id: 'msg_01jx3c7w5fe9c8m0t1q2r3s4v5',
    smtp: {
      mx: 'mx.example.test',
      ip: '192.0.2.1',
      code: 250,
      enhanced: '2.0.0',
      reply: 'Ok: queued as 4bXyZ',
      phase: 'dot',
      tls: { version: 'TLSv1.3', verified: true },
      duration_ms: 42,
    },
  }))
  await fastify.listen({ host: '127.0.0.1', port: 0 })
  return (fastify.server.address() as AddressInfo).port
}

if (import.meta.main) {
  const port = serve()
  work(() => port)
}
