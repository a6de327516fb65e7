import type { Interceptor, ServiceImplSpec } from '@connectrpc/connect'
import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import { FairTurns } from '../../net/fair-turns.ts'
import type { KeyGate, SessionGate } from '../caller.ts'
import { REQUEST_LIMITS } from '../config/limits.ts'
import { NO_TRACING, type Tracing } from '../telemetry/tracing.ts'
import { type Admit, createAddressAdmission, createKeyAdmission, undrained } from './admission.ts'
import type { Pace } from './body/arriving.ts'
import { type BodyLimits, shortBodies } from './body/body.ts'
import { type ByteBudget, createByteBudget } from './body/byte-budget.ts'
import type { Call, RawRequest, RawResponse } from './call.ts'
import { createFastify } from './fastify.ts'
import { forCaller, refuseUnfitText, showErrors } from './interceptors.ts'
import { createHostCheck, refuseOtherHosts } from './own-hosts.ts'
import { createRequestLog } from './request-log.ts'
import { endSpan, traced } from './request-span.ts'
import { collectPaths, createNotFoundHandler, otherMethods, type Path } from './rest/other-methods.ts'
import { type PeopleOnly, peopleOnlyRoutes } from './rest/people-only.ts'
import { type ProtocolParts, restRoutes } from './rest/rest.ts'
import { type OpenCallBounds, openServices } from './rpc/open-services.ts'
import { rpcRoutes } from './rpc/rpc.ts'
import { createKeyOrSessionAdmission, createSessionAdmission } from './session-calls.ts'
import { type Frames, frameRoutes } from './site/frame-routes.ts'
import type { KeySet } from './site/key-set.ts'
import { type Checks, shareReadiness } from './site/readiness.ts'
import { type Authenticate, signInRoutes } from './site/sign-in.ts'
import { siteRoutes } from './site/site.ts'

// A request, in the order of the folders:
//
//   listener/      one port: TLS, HTTP/1.1 or HTTP/2, bounds of connections and of small pieces
//   call.ts        the request from its head to its line in the log (request-log.ts, request-span.ts)
//   admission.ts   key or session, and the rate limit, before a byte of the body is read
//   body/          the bytes: how large, how slow, how many at a time, and what they may hold
//   rest/          JSON to the contract's message and back; rpc/ does the same for gRPC, gRPC-Web and Connect
//   interceptors.ts, then the implementation of the method, which the app gets as an argument
//   site/          the pages beside the contract: health, reference, guides, dashboard, sign-in

export interface AppParts {
  /** The implementations of the contract's services, as `createServiceImplSpec` binds them. */
  services: ServiceImplSpec[]
  /** They run around the implementation of each call, after its request was read and checked. */
  interceptors?: Interceptor[]
  gate: KeyGate
  openCalls: OpenCallBounds
  log: Logger
  tracing?: Tracing
  /** The state of each thing the server depends on: see site/readiness.ts. Resolves within a few seconds. */
  checks(): Promise<Checks>
  /** Shown by `/healthz`. */
  about: { version: string; region: string }
  /**
   * Where callers reach this server, without the last slash; called once it listens. By default the origin of the
   * document itself.
   */
  publicUrl?(): string
  /** The names under which the dashboard is served: see `createHostCheck`. By default addresses and localhost alone. */
  ownHosts?(): readonly string[]
  /** Paths of REST that refuse every key. */
  peopleOnly?: PeopleOnly[]
  /** The public keys of receipts. */
  keySet: KeySet
  /** Without it no session is accepted, and no call of the dashboard is served. */
  dashboard?: DashboardParts
  /** Addresses and ranges of proxies whose X-Forwarded-For counts. */
  trustProxy?: string[]
  /** Called with what could be read of a request that is refused, before its caller gets the error. */
  onRefused?: ProtocolParts['onRefused']
  /** Called with each call that has ended with an error. */
  onError?(call: Call): void
  /** Called with each call when it has ended. */
  onEnd?(call: Call): void
  limits?: Partial<Limits>
  /** Its calls begin their work in turn with the work of others that has these turns. */
  turns?: FairTurns
}

/** What people who are signed in may call, beside the services of the contract. */
export interface DashboardParts {
  /** Services whose methods all need a session. */
  services: ServiceImplSpec[]
  /** Services that every caller may call. Their messages are short. */
  openServices: ServiceImplSpec[]
  gate: SessionGate
  /** Whether a Cookie header holds a session's cookie, valid or not. */
  hasSession(cookie: string): boolean
  /** Content for frames of the pages. */
  frames?: Frames
  authenticate: Authenticate
}

export interface Limits {
  bodyBytes: number
  bodyTimeoutMs: number
  bodyPace: Pace
  /** Memory for large and for small bodies in flight, and how long a request waits for its share. */
  budgetBytes: number
  smallBudgetBytes: number
  budgetWaitMs: number
}

const LIMITS: Limits = {
  bodyBytes: REQUEST_LIMITS.bytes,
  bodyTimeoutMs: 120_000,
  bodyPace: { bytesPerSecond: 64 * 2 ** 10, afterMs: 5_000 },
  budgetBytes: 256 * 2 ** 20,
  smallBudgetBytes: 256 * 2 ** 20,
  budgetWaitMs: 30_000,
}

/** The time for the body of a call of the dashboard. The largest is a part of an import. */
const ADMIN_BODY_MS = 10_000

export interface App {
  /** Responds to one request of HTTP/1.1 or HTTP/2. */
  handle(request: RawRequest, response: RawResponse): void
  /** Calls without a finished response. */
  inFlight: ReadonlySet<Call>
  /** Whether `/readyz` returns 200. */
  isReady(): Promise<boolean>
  /** Makes readiness false; calls are still accepted. */
  leave(): void
  /** Refuses new calls with `transient_failure`, too. */
  drain(): void
  /** Aborted when readiness became false. */
  leaving: AbortSignal
  /** Aborted when the drain began. */
  draining: AbortSignal
  /** The memory for large bodies in flight. */
  bodyBudget: Pick<ByteBudget, 'inUse' | 'totalBytes'>
  smallBodyBudget: Pick<ByteBudget, 'inUse' | 'totalBytes'>
  /** Every path that is served, with its methods. */
  paths: Path[]
}

/** The routes of every protocol. Throws for a contract it cannot serve. */
export async function createApp(parts: AppParts): Promise<App> {
  const { services, gate, openCalls, about, onRefused, tracing = NO_TRACING, trustProxy = [] } = parts
  const leaving = new AbortController()
  const draining = new AbortController()
  const inFlight = new Set<Call>()
  const visit = createKeyAdmission(gate, true)
  const checkHost = createHostCheck(parts.ownHosts ?? (() => []))
  const logEnd = createRequestLog(parts.log)
  const ended = (call: Call, responded: boolean) => {
    logEnd(call, responded)
    endSpan(call, responded)
    if (call.error) parts.onError?.(call)
    parts.onEnd?.(call)
  }
  const records = { log: parts.log, inFlight, ended }
  const readiness = shareReadiness({ check: parts.checks, draining: leaving.signal })
  const interceptors = [showErrors(onRefused), forCaller, refuseUnfitText, ...(parts.interceptors ?? [])]
  const admitted = (admit: Admit) => undrained(draining.signal, traced(tracing, admit))
  const { turns = new FairTurns() } = parts
  const limits = bodyLimits({ ...LIMITS, ...parts.limits }, { turns, draining: draining.signal })
  const contract = { services, interceptors, limits, onRefused, admit: admitted(createKeyAdmission(gate, false)) }

  const fastify = createFastify({ trustProxy, records, visit, turns })
  const collect = collectPaths(fastify)
  await fastify.register(restRoutes, contract)
  await fastify.register(peopleOnlyRoutes, { calls: parts.peopleOnly ?? [], admit: contract.admit })
  await fastify.register(siteRoutes, {
    turns,
    readiness,
    about,
    visit,
    checkHost,
    publicUrl: parts.publicUrl ?? (() => '/'),
    keySet: parts.keySet,
  })
  await fastify.register(rpcRoutes, { ...contract, admit: admitted(rpcAdmit(parts, checkHost)) })
  if (parts.dashboard)
    await fastify.register(dashboardServices, {
      ...contract,
      ...parts.dashboard,
      admit: admitted(createSessionAdmission(parts.dashboard.gate)),
      checkHost,
      countAddress: createAddressAdmission(gate),
      draining: draining.signal,
    })
  await fastify.register(openServices, { services, interceptors, openCalls, readiness, ...limits })
  const paths = collect()
  await fastify.register(otherMethods, { paths, visit })
  fastify.setNotFoundHandler(createNotFoundHandler(paths, visit))
  await fastify.ready()

  return {
    handle: (request, response) => fastify.routing(request as never, response as never),
    inFlight,
    isReady: async () => (await readiness.read()).status === 'ready',
    leave: () => leaving.abort(),
    drain() {
      leaving.abort()
      draining.abort()
    },
    leaving: leaving.signal,
    draining: draining.signal,
    bodyBudget: limits.budget,
    smallBodyBudget: limits.smallBudget,
    paths,
  }
}

/** Admits RPCs by their key, or by a session where the dashboard is served. */
function rpcAdmit({ gate, dashboard }: AppParts, checkHost: (call: Call) => void): Admit {
  const byKey = createKeyAdmission(gate, false)
  if (!dashboard) return byKey
  const bySession = createSessionAdmission(dashboard.gate)
  const admitSession: Admit = async (call) => {
    checkHost(call)
    await bySession(call)
  }
  return createKeyOrSessionAdmission(byKey, admitSession, dashboard.hasSession)
}

interface DashboardServices extends DashboardParts, Pick<ProtocolParts, 'interceptors' | 'limits' | 'admit'> {
  countAddress: Admit
  checkHost(call: Call): void
  draining: AbortSignal
}

/** The routes of the dashboard's own services. */
async function dashboardServices(fastify: FastifyInstance, parts: DashboardServices): Promise<void> {
  const { services, openServices, gate, authenticate, frames, interceptors, limits, admit } = parts
  const { checkHost, countAddress, draining } = parts
  const shortLimits = shortBodies(limits)
  refuseOtherHosts(fastify, checkHost)
  await fastify.register(rpcRoutes, { services, interceptors, limits: { ...limits, timeoutMs: ADMIN_BODY_MS }, admit })
  await fastify.register(rpcRoutes, { services: openServices, interceptors, limits: shortLimits, admit })
  await fastify.register(signInRoutes, { authenticate, limits: shortLimits, admit: undrained(draining, countAddress) })
  if (frames) frameRoutes(fastify, { frames, gate })
}

function bodyLimits(
  { bodyBytes, bodyTimeoutMs, bodyPace, budgetBytes, smallBudgetBytes, budgetWaitMs: waitMs }: Limits,
  parts: Pick<BodyLimits, 'turns' | 'draining'>,
): BodyLimits {
  const budget = createByteBudget({ totalBytes: budgetBytes, waitMs })
  const smallBudget = createByteBudget({ totalBytes: smallBudgetBytes, waitMs })
  return { maxBytes: bodyBytes, timeoutMs: bodyTimeoutMs, pace: bodyPace, budget, smallBudget, ...parts }
}
