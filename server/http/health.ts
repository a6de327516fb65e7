import { createServiceImplSpec, type ServiceImplSpec } from '@connectrpc/connect'
import { Health, HealthCheckResponse_ServingStatus as Status } from '../../gen/grpc/health/v1/health_pb.ts'
import { fail } from '../errors.ts'

/** The parts a server depends on, each `ok`, `degraded` or what is wrong with it. */
export type Checks = Record<string, string>

export interface Readiness {
  status: 'ready' | 'not_ready'
  checks: Checks & { draining: string }
}

const READY = new Set(['ok', 'degraded'])
const WATCH_INTERVAL_MS = 1_000

/** Ready while everything the server depends on works and it takes new calls. */
export async function readiness(check: () => Promise<Checks>, draining: AbortSignal): Promise<Readiness> {
  const checks = await check()
  const ready = Object.values(checks).every((state) => READY.has(state)) && !draining.aborted
  return { status: ready ? 'ready' : 'not_ready', checks: { ...checks, draining: draining.aborted ? 'yes' : 'no' } }
}

/** `grpc.health.v1`: every service is as ready as the server. The empty name is the server's own. */
export function healthService(check: () => Promise<Checks>, draining: AbortSignal, names: string[]): ServiceImplSpec {
  const known = new Set(['', ...names])
  const statusOf = async (service: string) => {
    if (!known.has(service)) return Status.SERVICE_UNKNOWN
    const { status } = await readiness(check, draining)
    return status === 'ready' ? Status.SERVING : Status.NOT_SERVING
  }

  return createServiceImplSpec<typeof Health>(Health, {
    async check({ service }) {
      if (!known.has(service)) throw fail('not_found', `There is no service "${service.slice(0, 64)}".`)
      return { status: await statusOf(service) }
    },
    async list() {
      const now = { status: await statusOf('') }
      return { statuses: Object.fromEntries([...known].map((name) => [name, now])) }
    },
    // A watcher must not keep a server from going: its stream ends with the drain, after saying so.
    async *watch({ service }, { signal }) {
      for (let last: Status | undefined; !signal.aborted; await pause(WATCH_INTERVAL_MS, [signal, draining])) {
        const status = await statusOf(service)
        if (status !== last) yield { status }
        last = status
        if (draining.aborted) return
      }
    },
  })
}

function pause(ms: number, signals: AbortSignal[]): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer)
      for (const signal of signals) signal.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, ms)
    for (const signal of signals) signal.addEventListener('abort', done)
  })
}
