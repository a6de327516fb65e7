import { chmod } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { TypedSearchAttributes } from '@temporalio/common'
import { SEARCH_ATTRIBUTES } from '../../workflows/search-attributes.ts'
import { keeping, stopKept } from '../keeper.ts'
import { listens } from '../ports.ts'
import { spawnWithLog } from '../spawn-with-log.ts'

export interface TemporalServer {
  /** `host:port` of its gRPC. */
  address: string
  uiUrl: string
  /** The process group of the server. */
  group: number
  /** True when its gRPC accepts connections (its UI takes a second more), false when it ends before that. */
  ready: Promise<boolean>
  /** Resolves when it has ended, for any reason. */
  gone: Promise<void>
  stop(): Promise<void>
}

export interface TemporalServerOptions {
  /** The program `temporal`. */
  program: string
  port: number
  uiPort: number
  /** Stores its workflows; without it they are lost when it ends. */
  dbFile?: string
  logFile: string
}

const STOPS_WITHIN_MS = 10_000

/** Raises limits that are meant for clusters of many tenants, and switches off the call to Temporal's makers. */
const DYNAMIC_CONFIG = {
  'frontend.rps': 100_000,
  'frontend.namespaceRPS': 100_000,
  'frontend.namespaceRPS.visibility': 1000,
  'matching.rps': 100_000,
  'history.rps': 100_000,
  'frontend.enableServerVersionCheck': false,
}

/** Starts Temporal's development server on the loopback interface. It ends with the process that started it. */
export async function startTemporalServer(options: TemporalServerOptions): Promise<TemporalServer> {
  // An orderly end takes a second and has no advantage: what Temporal has stored survives a kill too.
  const command = keeping([options.program, ...serverArguments(options)], { signal: 'KILL' })
  if (options.dbFile) await chmod(options.dbFile, 0o600).catch(ignoreMissing)
  const { child, gone: exit } = await spawnWithLog(command, options.logFile, (log) => ['pipe', log, log])
  const gone = exit.then(() => {})
  return {
    address: `127.0.0.1:${options.port}`,
    uiUrl: `http://127.0.0.1:${options.uiPort}`,
    group: child.pid!,
    ready: becomesReady(options.port, gone),
    gone,
    stop: () => stopKept(child, STOPS_WITHIN_MS),
  }
}

/** Earlier versions left the database readable for all users, so it is made private. The first start has none yet. */
function ignoreMissing(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ENOENT') throw error
}

function serverArguments({ port, uiPort, dbFile }: TemporalServerOptions): string[] {
  const pairs = (flag: string, values: [name: string, value: unknown][]) =>
    values.flatMap(([name, value]) => [flag, `${name}=${value}`])
  return [
    ...['server', 'start-dev', '--ip', '127.0.0.1', '--port', `${port}`, '--ui-port', `${uiPort}`],
    ...(dbFile ? ['--db-filename', dbFile] : []),
    ...['--log-level', 'error'],
    ...pairs(
      '--search-attribute',
      SEARCH_ATTRIBUTES.map(({ name, type }) => [name, TypedSearchAttributes.toMetadataType(type)]),
    ),
    ...pairs('--dynamic-config-value', Object.entries(DYNAMIC_CONFIG)),
  ]
}

async function becomesReady(port: number, gone: Promise<void>): Promise<boolean> {
  const ended = gone.then(() => true)
  do if (await listens(port)) return true
  while (!(await Promise.race([ended, sleep(20, false)])))
  return false
}
