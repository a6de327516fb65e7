import { once } from 'node:events'
import { pino } from 'pino'
import { KEY as RECEIPT_KEY } from '../../dev/openapi/receipt-example.ts'
import type { SendRequest } from '../../gen/verdict/v1/emails_pb.ts'
import { createOpenCalls } from '../../server/access/open-calls.ts'
import type { KeyGate } from '../../server/caller.ts'
import { fail } from '../../server/errors.ts'
import { createApp, type DashboardParts, type Limits } from '../../server/http/app.ts'
import { type ListenOptions, listen } from '../../server/http/listener/listen.ts'
import { describeError } from '../../server/process/log.ts'
import { createMemoryServices, RATE, type ServiceParts } from './memory-services.ts'
import { delivered } from './resources.ts'

// The gateway over services in memory.

export const KEY = 'svc_test_key'
/** The rate of a caller without a key. */
export const ADDRESS_RATE = { limit: 600, remaining: 599, resetAt: 1_769_860_861 }
export const CALLER = { accountId: 'acc_1', keyId: 'key_1', test: true }

export interface Parts extends ServiceParts {
  gate?: KeyGate
  checks?(): Promise<Record<string, string>>
  limits?: Partial<Limits>
  trustProxy?: string[]
  publicUrl?(): string
  dashboard?: DashboardParts
  listen?: Partial<ListenOptions>
}

export type Gateway = Awaited<ReturnType<typeof startGateway>>

export async function startGateway(parts: Parts = {}) {
  const lines: Record<string, unknown>[] = []
  const sent: SendRequest[] = []
  const log = pino(
    { base: undefined, serializers: { err: (error) => describeError(error) } },
    { write: (line) => void lines.push(JSON.parse(line)) },
  )
  const openCalls = createOpenCalls()
  const app = await createApp({
    services: createMemoryServices(parts, sent),
    gate: parts.gate ?? oneKey,
    openCalls,
    log,
    keySet: { read: async () => ({ keys: [RECEIPT_KEY] }), maxAgeSeconds: 300 },
    checks: parts.checks ?? (async () => ({ database: 'ok', migrations: 'ok' })),
    about: { version: '0.0.0', region: 'eu' },
    limits: parts.limits,
    trustProxy: parts.trustProxy,
    publicUrl: parts.publicUrl,
    dashboard: parts.dashboard,
  })
  const listener = await listen(app, { host: '127.0.0.1', port: 0, ...parts.listen })
  const close = () => listener.close({ timeoutMs: 0 })
  return { ...listener, app, openCalls, lines, sent, listener, close, [Symbol.asyncDispose]: close }
}

/** A gateway whose sends last until `letGo`. */
export async function startSlow(parts: Parts = {}) {
  const held = Promise.withResolvers<void>()
  const gateway = await startGateway({
    async send() {
      await held.promise
      return delivered()
    },
    ...parts,
  })
  return { ...gateway, letGo: held.resolve }
}

/** A gateway whose sends last until they are aborted. */
export async function startEndless() {
  const aborted = Promise.withResolvers<void>()
  const gateway = await startGateway({
    async send(_, { signal }) {
      await once(signal, 'abort')
      aborted.resolve()
      throw signal.reason
    },
  })
  return { ...gateway, aborted: aborted.promise }
}

const oneKey: KeyGate = async ({ authorization, keyOptional, tellRate }) => {
  if (keyOptional && authorization === null) {
    tellRate(ADDRESS_RATE)
    return undefined
  }
  if (authorization !== `Bearer ${KEY}`) throw fail('invalid_api_key', 'This is not the key.')
  tellRate(RATE)
  return CALLER
}
