import type { Interceptor, ServiceImplSpec } from '@connectrpc/connect'
import type { FastifyInstance } from 'fastify'
import type { FairTurns } from '../../../net/fair-turns.ts'
import type { Admit } from '../admission.ts'
import { shortBodies } from '../body/body.ts'
import { callOf } from '../call.ts'
import { createHealthService } from '../grpc-health.ts'
import type { SharedReadiness } from '../site/readiness.ts'
import { createReflectionServices } from './reflection.ts'
import { rpcRoutes } from './rpc.ts'

/** Bounds calls without a key by the address of their caller. Both functions throw an error made by `fail`. */
export interface OpenCallBounds {
  /** Counts a call, or one request of a stream. */
  count(remoteAddress: string): void
  /** Takes a slot for a stream, and returns the function that frees it. `end` is called when it has to make room. */
  openStream(remoteAddress: string, end: () => void): () => void
}

export interface OpenServicesParts {
  /** The contract's services, which health and reflection name. */
  services: ServiceImplSpec[]
  interceptors: Interceptor[]
  openCalls: OpenCallBounds
  readiness: SharedReadiness
  draining: AbortSignal
  turns: FairTurns
}

/**
 * The limits of one message to health or reflection, and of all messages of a call. Callers are unknown, and messages
 * short.
 */
const OPEN_MESSAGE_BYTES = 4 * 1024
const OPEN_BODY_BYTES = 64 * 1024

/** The routes of health and reflection, which need no key. They take neither memory nor time from calls with a key. */
export async function openServices(fastify: FastifyInstance, parts: OpenServicesParts): Promise<void> {
  const { services, interceptors, openCalls, readiness } = parts
  const contract = services.map(({ service }) => service)
  const health = createHealthService(
    readiness,
    contract.map(({ typeName }) => typeName),
  )
  const reflection = createReflectionServices([...contract, health.service], (values) =>
    openCalls.count(callOf(values).remoteAddress),
  )
  const limits = shortBodies(parts, OPEN_BODY_BYTES)
  const admit: Admit = async (call) => {
    const { method, remoteAddress, signal } = call
    openCalls.count(remoteAddress)
    if (method?.methodKind === 'unary' || signal.aborted) return
    signal.addEventListener(
      'abort',
      openCalls.openStream(remoteAddress, () => call.hangUp()),
      { once: true },
    )
  }
  await fastify.register(rpcRoutes, {
    services: [health, ...reflection],
    interceptors,
    limits,
    admit,
    messageBytes: OPEN_MESSAGE_BYTES,
  })
}
