import type { FastifyInstance } from 'fastify'
import type { FairTurns } from '../../../net/fair-turns.ts'
import { networkOf } from '../../../net/network.ts'
import type { Admit } from '../admission.ts'
import type { Call } from '../call.ts'
import { refuseOtherHosts } from '../own-hosts.ts'
import { dashboardPages } from './dashboard-pages.ts'
import { guidesPages } from './guides-pages.ts'
import { type KeySet, keySetPage } from './key-set.ts'
import { openApiPage } from './openapi.ts'
import type { SharedReadiness } from './readiness.ts'

export interface SiteParts {
  turns: FairTurns
  readiness: SharedReadiness
  /** Shown by `/healthz`. */
  about: { version: string; region: string }
  /** Counts a caller, with or without a key. */
  visit: Admit
  /** Throws for a call to the dashboard under a host that is not ours. */
  checkHost(call: Call): void
  /** Where callers reach this server: the base of the paths in the OpenAPI document. Called once it listens. */
  publicUrl(): string
  /** The public keys of receipts. */
  keySet: KeySet
}

/** Whoever looks whether this process is well waits for no flood: it would be ended for one. */
const HEALTH = ['/healthz', '/readyz']

/** The paths beside the contract, which need no key. */
export async function siteRoutes(
  fastify: FastifyInstance,
  { turns, readiness, about, visit, checkHost, publicUrl, keySet }: SiteParts,
): Promise<void> {
  fastify.addHook('onRequest', async ({ call, routeOptions }) => {
    call.path = routeOptions.url
    if (!HEALTH.includes(routeOptions.url!)) await turns.takeAsStranger(networkOf(call.remoteAddress))
  })
  openApiPage(fastify, { visit, publicUrl })
  fastify.get('/healthz', async () => ({ status: 'ok', ...about }))
  fastify.get('/readyz', async (_, reply) => {
    const state = await readiness.read()
    reply.code(state.status === 'ready' ? 200 : 503)
    return state
  })
  guidesPages(fastify, { visit })
  await fastify.register(async (pages) => {
    refuseOtherHosts(pages, checkHost)
    dashboardPages(pages, { visit })
  })
  keySetPage(fastify, keySet)
}
