import { execFile } from 'node:child_process'
import { readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { cacheFolder } from '../../dev/temporal/install-options.ts'
import { temporalPrograms } from '../../dev/temporal/program.ts'
import { environmentFile } from '../deploy/units.ts'
import { type Daemon, eventually, openFolder, startDaemon } from '../real/daemon.ts'
import type { Machine } from './machines.ts'

// Temporal's four services on two machines, behind HAProxy: the files of deploy/temporal, run as they are.

const FOLDER = 'deploy/temporal'
export const SERVICES = ['frontend', 'history', 'matching', 'worker'] as const
export type ServiceName = (typeof SERVICES)[number]
/** The ports of gRPC in deploy/temporal/config.yaml. */
const PORTS: Record<ServiceName, number> = { frontend: 7233, history: 7234, matching: 7235, worker: 7239 }
const NAMESPACE = ['--namespace', 'default', '--retention', '90d']
const SERVES_WITHIN_MS = 60_000

/** Where services run: a machine, or an address of this one. */
export type Place = Pick<Machine, 'name' | 'address' | 'command'>

export interface TemporalService {
  name: ServiceName
  place: Place
  /** The id of its last process. */
  pid(): number
  /** Sends a signal to its process. */
  signal(signal: NodeJS.Signals): void
  /** Stops it as systemd does. */
  stop(): Promise<void>
  /** Starts it when it has ended. */
  start(): Promise<void>
  log(): string
}

export interface TemporalCluster {
  /** `host:port` of HAProxy. */
  address: string
  /** Two of each. */
  services: TemporalService[]
  of(name: ServiceName, place: number): TemporalService
  drop(): Promise<void>
}

interface Options {
  places: [Place, Place]
  /** Where HAProxy runs. */
  proxy: Place
  /** PostgreSQL, as the services reach it. The user may create databases. */
  database: { host: string; port: number; user: string; password: string }
  /** Ends the names of the two databases, where a server has several. */
  suffix?: string
}

/** Starts a cluster with the namespace `default`. */
export async function startTemporalCluster({
  places,
  proxy,
  database,
  suffix = '',
}: Options): Promise<TemporalCluster> {
  const folder = await openFolder('temporal-cluster')
  const programs = await installInto(folder)
  const environment: Record<string, string> = {
    ...environmentFile(join(FOLDER, 'temporal.env')),
    PATH: `${folder}:${process.env.PATH}`,
    POSTGRES_SEEDS: database.host,
    DB_PORT: `${database.port}`,
    POSTGRES_USER: database.user,
    POSTGRES_PWD: database.password,
    DBNAME: `temporal${suffix}`,
    VISIBILITY_DBNAME: `temporal_visibility${suffix}`,
    DYNAMIC_CONFIG_FILE_PATH: resolve(FOLDER, 'dynamic.yaml'),
  }
  const services: TemporalService[] = []
  let haproxy: Daemon | undefined

  async function drop(): Promise<void> {
    for (const service of services) {
      service.signal('SIGCONT')
      service.signal('SIGKILL')
    }
    await haproxy?.stop()
    await rm(folder, { recursive: true })
  }

  try {
    await run(places[0].command(withEnvironment(environment, ['sh', resolve(FOLDER, 'schema.sh')])))
    for (const place of places) for (const name of SERVICES) services.push(serviceOf(name, place, environment))
    // The first process stores what the cluster is. Others that try it at the same moment end.
    const [first, ...others] = services
    await first!.start()
    await Promise.all(others.map((service) => service.start()))
    const configuration = join(folder, 'haproxy.cfg')
    await writeFile(configuration, await proxyConfiguration(places, proxy))
    haproxy = await startDaemon(proxy.command(['haproxy', '-f', configuration]), {
      address: proxy.address,
      port: PORTS.frontend,
    })
    const address = `${proxy.address}:${PORTS.frontend}`
    await createNamespace(programs.temporal, address)
    return {
      address,
      services,
      of: (name, place) => services.find((service) => service.name === name && service.place === places[place])!,
      drop,
    }
  } catch (error) {
    for (const { name, place, log } of services) console.log(name, place.name, log().slice(-2_000))
    console.log(haproxy?.log())
    await drop()
    throw error
  }
}

/** Temporal's programs. A new machine builds them first, which takes minutes. */
export function clusterPrograms() {
  const options = { report: console.error, signal: new AbortController().signal, cacheDir: cacheFolder(process.env) }
  return temporalPrograms(['temporal', 'temporal-server', 'temporal-sql-tool'], options)
}

/** Links the programs into the folder under the names that the files of deploy/temporal use. */
async function installInto(folder: string) {
  const programs = await clusterPrograms()
  for (const name of ['temporal-server', 'temporal-sql-tool'] as const)
    await symlink(programs[name], join(folder, name))
  return programs
}

function serviceOf(name: ServiceName, place: Place, environment: Record<string, string>): TemporalService {
  const env = { ...environment, BIND_ON_IP: place.address, TEMPORAL_SERVICES: name }
  const server = ['temporal-server', '--config-file', resolve(FOLDER, 'config.yaml'), '--allow-no-auth', 'start']
  let daemon: Daemon | undefined
  const pid = () => Number(/^pid (\d+)$/m.exec(daemon?.log() ?? '')?.[1])
  return {
    name,
    place,
    pid,
    signal(signal) {
      try {
        if (pid()) process.kill(pid(), signal)
      } catch {
        // It has ended.
      }
    },
    stop: async () => daemon?.stop(),
    async start() {
      // The process that this shell becomes has its id.
      const command = ['sh', '-c', 'echo "pid $$"; exec "$@"', 'sh', ...withEnvironment(env, server)]
      daemon = await startDaemon(place.command(command), { address: place.address, port: PORTS[name] })
    },
    log: () => daemon?.log() ?? '',
  }
}

const withEnvironment = (env: Record<string, string>, command: string[]) => [
  'env',
  '-i',
  ...Object.entries(env).map(([key, value]) => `${key}=${value}`),
  ...command,
]

async function run([command, ...args]: string[]): Promise<void> {
  await promisify(execFile)(command!, args, { maxBuffer: 50_000_000 })
}

/** The defaults of deploy/patroni, and the part that deploy/temporal appends. */
async function proxyConfiguration(places: Place[], proxy: Place): Promise<string> {
  const [defaults] = (await readFile('deploy/patroni/haproxy.cfg', 'utf8')).split('# The leader.')
  const part = (await readFile(join(FOLDER, 'haproxy.cfg'), 'utf8')).replace(
    '127.0.0.1:7233\n  ',
    `${proxy.address}:7233\n  `,
  )
  return places.reduce((text, { address }, i) => text.replace(`192.0.2.1${i + 1}:`, `${address}:`), defaults + part)
}

/** As the guide does. The command fails until the services have found each other. */
async function createNamespace(temporal: string, address: string): Promise<void> {
  const create = [temporal, 'operator', 'namespace', 'create', '--address', address, ...NAMESPACE]
  await eventually(
    () =>
      run(create).then(
        () => true,
        () => undefined,
      ),
    SERVES_WITHIN_MS,
  )
}
