import type { DescMethod } from '@bufbuild/protobuf'
import type { ServiceImplSpec } from '@connectrpc/connect'
import type { Logger } from 'pino'
import { type Caller, callerKey, type Rate } from '../caller.ts'
import { REQUEST_LIMITS } from '../config/limits.ts'
import { fail } from '../errors.ts'
import type { Pace } from './arriving.ts'
import type { BodyLimits } from './body.ts'
import { createByteBudget } from './byte-budget.ts'
import { type Call, callKey, type RawRequest, type RawResponse } from './call.ts'
import { healthService } from './health.ts'
import { errors, text } from './interceptors.ts'
import type { Admit, Path } from './paths.ts'
import { type Checks, type SharedReadiness, shareReadiness } from './readiness.ts'
import { reflectionServices } from './reflection.ts'
import { createRequestLog } from './request-log.ts'
import { restPaths } from './rest.ts'
import { createRouter } from './router.ts'
import { rpcPaths } from './rpc.ts'
import { sitePaths } from './site.ts'

/** Who calls; throws an error made by `fail` when the call may not be made. Runs before a byte of the body is read. */
export type Gate = (call: {
  /** undefined for what is served to every caller. */
  method: DescMethod | undefined
  authorization: string | null
  /** Without a key the call counts for the caller's address, and there is no caller to return. */
  keyOptional: boolean
  remoteAddress: string
  /** Is told what is left of the caller's requests, for the headers of the answer. */
  tellRate(rate: Rate): void
}) => Promise<Caller | undefined>

/** Bounds what needs no key by the address of its caller. Both throw an error made by `fail`. */
export interface OpenCalls {
  /** Counts a call, or a question of a stream. */
  count(remoteAddress: string): void
  /** Takes a place for a stream, and returns the function that gives it back. */
  openStream(remoteAddress: string): () => void
}

export interface AppParts {
  /** What the contract's services do, as `createServiceImplSpec` binds them. */
  services: ServiceImplSpec[]
  gate: Gate
  openCalls: OpenCalls
  log: Logger
  /** The state of each thing the server depends on: `ok`, `degraded` or what is wrong. Answers within a few seconds. */
  checks(): Promise<Checks>
  /** Shown by `/healthz`. */
  about: { version: string; region: string }
  /** Where callers reach this server, without the last slash; asked once it listens. By default the origin of the document itself. */
  publicUrl?(): string
  /** Addresses and ranges of proxies whose X-Forwarded-For counts. */
  trustProxy?: string[]
  limits?: Partial<Limits>
}

export interface Limits {
  bodyBytes: number
  bodyTimeoutMs: number
  bodyPace: Pace
  /** Memory for bodies in flight, and how long a request waits for its share. */
  budgetBytes: number
  budgetWaitMs: number
}

const LIMITS: Limits = {
  bodyBytes: REQUEST_LIMITS.bytes,
  bodyTimeoutMs: 120_000,
  bodyPace: { bytesPerSecond: 64 * 2 ** 10, afterMs: 5_000 },
  budgetBytes: 256 * 2 ** 20,
  budgetWaitMs: 30_000,
}

export interface App {
  /** Answers one request of either HTTP. */
  handle(request: RawRequest, response: RawResponse): void
  /** What is not answered yet. */
  inFlight: ReadonlySet<Call>
  /** From now on readiness is false; calls are still taken. */
  leave(): void
  /** From now on new calls are refused with `transient_failure`, too. */
  drain(): void
  /** Aborted when the drain began. */
  draining: AbortSignal
  /** Every path that is served, with its methods. */
  paths: { path: string; verbs: string[] }[]
}

/** The routes of every protocol. Throws for a contract it cannot serve. */
export async function createApp(parts: AppParts): Promise<App> {
  const limits = { ...LIMITS, ...parts.limits }
  const budget = createByteBudget({ totalBytes: limits.budgetBytes, waitMs: limits.budgetWaitMs })
  const leaving = new AbortController()
  const draining = new AbortController()
  const { bodyBytes: maxBytes, bodyTimeoutMs: timeoutMs, bodyPace: pace } = limits
  const body: BodyLimits = { maxBytes, timeoutMs, pace, budget, draining: draining.signal }
  const inFlight = new Set<Call>()
  const visit = counting(parts.gate, true)
  const admit = undrained(draining.signal, counting(parts.gate, false))
  const common = { interceptors: [errors, text], limits: body }
  const readiness = shareReadiness({ check: parts.checks, draining: leaving.signal })
  const paths = [
    ...restPaths({ ...common, services: parts.services, admit }),
    ...(await sitePaths({ readiness, about: parts.about, visit, publicUrl: parts.publicUrl ?? (() => '/') })),
    ...rpcPaths({ ...common, services: parts.services, admit }),
    ...openPaths(parts, readiness, draining.signal),
  ]
  return {
    handle: await createRouter(paths, visit, parts.trustProxy ?? [], {
      log: parts.log,
      inFlight,
      ended: createRequestLog(parts.log),
    }),
    inFlight,
    leave: () => leaving.abort(),
    drain() {
      leaving.abort()
      draining.abort()
    },
    draining: draining.signal,
    paths: paths.map(({ path, verbs }) => ({ path, verbs: Object.keys(verbs) })),
  }
}

/** The gate, which counts every request and tells its caller what is left. */
function counting(gate: Gate, keyOptional: boolean): Admit {
  return async (call) => {
    const { method, remoteAddress } = call
    const authorization = call.raw.headers.authorization ?? null
    const tellRate = (rate: Rate) => Object.assign(call.headers, rateHeaders(rate))
    call.values.set(callerKey, await gate({ method, authorization, remoteAddress, keyOptional, tellRate }))
  }
}

/** What comes after the drain began is not started, and told so while that is still certain. */
function undrained(draining: AbortSignal, admit: Admit): Admit {
  return (call) => (draining.aborted ? Promise.reject(shuttingDown()) : admit(call))
}

const shuttingDown = () =>
  fail('transient_failure', 'This server is shutting down. Nothing was sent; it is safe to retry.')

const rateHeaders = ({ limit, remaining, resetAt }: Rate) => ({
  'x-ratelimit-limit': String(limit),
  'x-ratelimit-remaining': String(remaining),
  'x-ratelimit-reset': String(resetAt),
})

/** Of a message of health or reflection, and of all messages of a call. They are short, and nobody vouches for their callers. */
const OPEN_MESSAGE_BYTES = 4 * 1024
const OPEN_BODY_BYTES = 64 * 1024
const OPEN_BODY_TIMEOUT_MS = 10_000

/** Health and reflection need no key: whatever is asked of them costs no call with a key its memory or its turn. */
function openPaths({ services, openCalls }: AppParts, readiness: SharedReadiness, draining: AbortSignal): Path[] {
  const served = services.map(({ service }) => service)
  const names = served.map((service) => service.typeName)
  const health = healthService(readiness, names)
  const reflection = reflectionServices([...served, health.service], (values) =>
    openCalls.count(values.get(callKey)!.remoteAddress),
  )
  const limits: BodyLimits = {
    maxBytes: OPEN_BODY_BYTES,
    timeoutMs: OPEN_BODY_TIMEOUT_MS,
    // A body this short needs none.
    budget: createByteBudget({ totalBytes: 0, waitMs: 0 }),
    draining,
  }
  const admit: Admit = async ({ method, remoteAddress, signal }) => {
    openCalls.count(remoteAddress)
    if (method!.methodKind === 'unary' || signal.aborted) return
    signal.addEventListener('abort', openCalls.openStream(remoteAddress), { once: true })
  }
  const open = { services: [health, ...reflection], interceptors: [errors, text], limits, admit }
  return rpcPaths({ ...open, messageBytes: OPEN_MESSAGE_BYTES })
}
