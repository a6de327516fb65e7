import { createServiceImplSpec, type ServiceImplSpec } from '@connectrpc/connect'
import { Health, HealthCheckResponse_ServingStatus as Status } from '../../gen/grpc/health/v1/health_pb.ts'
import { fail } from '../errors.ts'
import type { SharedReadiness } from './site/readiness.ts'

/** `grpc.health.v1`: every service is as ready as the server. The empty name is the server's own. */
export function createHealthService({ read, follow }: SharedReadiness, names: string[]): ServiceImplSpec {
  const serviceNames = new Set(['', ...names])
  const serverStatus = async () => statusOf((await read()).status === 'ready')

  return createServiceImplSpec<typeof Health>(Health, {
    async check({ service }) {
      if (!serviceNames.has(service)) throw fail('not_found', `There is no service "${service.slice(0, 64)}".`)
      return { status: await serverStatus() }
    },
    async list() {
      const now = { status: await serverStatus() }
      return { statuses: Object.fromEntries([...serviceNames].map((name) => [name, now])) }
    },
    // As the protocol demands, a stream about an unknown service says so and waits. The drain ends every stream.
    async *watch({ service }, { signal }) {
      const isKnown = serviceNames.has(service)
      if (!isKnown) yield { status: Status.SERVICE_UNKNOWN }
      for await (const ready of follow(signal)) {
        if (isKnown) yield { status: statusOf(ready) }
      }
    },
  })
}

const statusOf = (ready: boolean) => (ready ? Status.SERVING : Status.NOT_SERVING)
