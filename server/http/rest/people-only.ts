import type { FastifyInstance } from 'fastify'
import { fail } from '../../errors.ts'
import type { Admit } from '../admission.ts'
import { routeOf } from './other-methods.ts'

/** A change that no API key may make. */
export interface PeopleOnly {
  /** Where a program would look for it, `/api/v1/things/{id}/close`. */
  path: string
  /** Says who makes it, and where. */
  message: string
}

interface PeopleOnlyOptions {
  calls: PeopleOnly[]
  admit: Admit
}

/** Refuses calls with the reason, where a 404 would make callers look for another path. */
export async function peopleOnlyRoutes(fastify: FastifyInstance, { calls, admit }: PeopleOnlyOptions): Promise<void> {
  for (const { path, message } of calls) {
    fastify.post(routeOf(path), {
      onRequest: async ({ call }) => {
        call.path = path
        await admit(call)
      },
      handler: () => {
        throw fail('insufficient_scope', message)
      },
    })
  }
}
