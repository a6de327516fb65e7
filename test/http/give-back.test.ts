import type { FastifyReply } from 'fastify'
import { pino } from 'pino'
import { expect, test } from 'vitest'
import { fail } from '../../server/errors.ts'
import { takeShare } from '../../server/http/body/body.ts'
import { createByteBudget } from '../../server/http/body/byte-budget.ts'
import { createFastify } from '../../server/http/fastify.ts'
import { takes } from '../harness/waits.ts'

// Handlers may forget what they have taken: sign-ins did, and were refused after seven hundred until a restart.

const ENDS: Record<string, (reply: FastifyReply) => unknown> = {
  'a result': () => 'ok',
  'a result that takes time': () => takes(5, 'ok'),
  'an error': () => Promise.reject(fail('not_found', 'Nothing is here.')),
  'a fault': () => Promise.reject(new TypeError('a fault of the code')),
  'a response without Fastify': (reply) => void reply.hijack().raw.end('ok'),
  'a closed connection': (reply) => void reply.hijack().raw.destroy(),
}

test.each(Object.entries(ENDS))(
  'whatever a call has taken is given back when its work has ended: by %s',
  async (_, end) => {
    const records = { log: pino({ level: 'silent' }), inFlight: new Set<never>(), ended() {} }
    const fastify = createFastify({ trustProxy: [], records, visit: async () => {} })
    const budget = createByteBudget({ totalBytes: 2 ** 20, waitMs: 0 })
    let taken = 0
    fastify.post('/some', async ({ call }, reply) => {
      await takeShare(call, 10_000, budget)
      taken = budget.inUse()
      return end(reply)
    })
    await fastify.inject({ method: 'POST', url: '/some' }).catch(() => {})
    expect([taken, budget.inUse()]).toEqual([30_000, 0])
  },
)
