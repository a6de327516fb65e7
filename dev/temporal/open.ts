import { once } from 'node:events'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Config } from '../../server/config/config.ts'
import { lastLines } from '../last-lines.ts'
import { freePort } from '../ports.ts'
import { Problem } from '../problem.ts'
import { cacheFolder } from './install-options.ts'
import { temporalProgram } from './program.ts'
import { startTemporalServer, type TemporalServerOptions } from './server.ts'

export interface DevTemporal {
  /** `host:port`. It may not accept connections yet. */
  address: string
  /** The environment of the processes that use it. */
  env: NodeJS.ProcessEnv
  uiUrl: string | undefined
  /** Ends Temporal, or its download or build. Resolves when that has ended. */
  stop(): Promise<void>
}

export interface TemporalOptions {
  /** With an address, that Temporal is used, and neither started nor stopped here. */
  config: Pick<Config, 'temporal' | 'temporalUiUrl'>
  dataDir: string
  /** Use any free ports instead of the usual ones. */
  anyPorts: boolean
  /** Reports progress to the user. */
  report(message: string): void
}

const USUAL_PORT = 7233
const USUAL_UI_PORT = 8233
const [FIRST_PAUSE_MS, LONGEST_PAUSE_MS] = [1000, 60_000]
const CONNECT_MS = 5_000
const WITHOUT_TEMPORAL = 'Without Temporal, webhook retries wait and replays fail. Sends and first attempts work.'

/**
 * Returns Temporal's address at once, and starts Temporal in the background when its program is installed: its clients
 * wait for it. Its workflows are stored in `dataDir/temporal.db`. It ends with the process that started it.
 */
export async function openTemporal({ config, dataDir, anyPorts, report }: TemporalOptions): Promise<DevTemporal> {
  if (config.temporal) {
    const { address } = config.temporal
    void reportUnreachable(address, report)
    return { address, env: {}, uiUrl: config.temporalUiUrl, stop: async () => {} }
  }
  const port = await freePort(anyPorts ? undefined : USUAL_PORT)
  const uiPort = await freePort(anyPorts ? undefined : USUAL_UI_PORT)
  const stopping = new AbortController()
  const running = keepRunning({ dataDir, port, uiPort, report, signal: stopping.signal })
  const address = `127.0.0.1:${port}`
  const uiUrl = `http://127.0.0.1:${uiPort}`
  return {
    address,
    env: { ...clearedVariables(), TEMPORAL_ADDRESS: address, TEMPORAL_UI_URL: uiUrl },
    uiUrl,
    stop: () => {
      stopping.abort()
      return running
    },
  }
}

/** Never throws: the processes wait for Temporal. */
async function reportUnreachable(address: string, report: (message: string) => void): Promise<void> {
  const { hostname, port } = new URL(`tcp://${address}`)
  const socket = connect({ host: hostname.replace(/^\[|\]$/g, ''), port: Number(port) })
  try {
    await once(socket, 'connect', { signal: AbortSignal.timeout(CONNECT_MS) })
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    report(`TEMPORAL_ADDRESS: ${address} cannot be reached (${code ?? message}). ${WITHOUT_TEMPORAL}`)
  } finally {
    socket.destroy()
  }
}

/** Clears variables that configure Temporal's own tools for another Temporal: they share our prefix. */
function clearedVariables(): NodeJS.ProcessEnv {
  const names = Object.keys(process.env).filter((name) => name.startsWith('TEMPORAL_'))
  return Object.fromEntries(names.map((name) => [name, '']))
}

interface Running {
  dataDir: string
  port: number
  uiPort: number
  report(message: string): void
  signal: AbortSignal
}

/** Never throws: without Temporal only retries wait and replays fail. */
async function keepRunning({ dataDir, port, uiPort, report, signal }: Running): Promise<void> {
  const logFile = join(dataDir, 'temporal.log')
  try {
    const program = await temporalProgram({ report, signal, cacheDir: cacheFolder(process.env) })
    const options = { program, port, uiPort, dbFile: join(dataDir, 'temporal.db'), logFile }
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
      await runUntilItEnds(options, signal)
      report(`Temporal ended. It starts again in ${pauseMs / 1000} s. ${await lastLines(logFile)}`)
      await sleep(pauseMs, undefined, { signal })
    }
  } catch (error) {
    if (signal.aborted) return
    const reason = error instanceof Problem ? error.message : String(error)
    report(`${reason}\n${WITHOUT_TEMPORAL}`)
  }
}

async function runUntilItEnds(options: TemporalServerOptions, signal: AbortSignal): Promise<void> {
  const server = await startTemporalServer(options)
  const stop = () => void server.stop()
  signal.addEventListener('abort', stop)
  if (signal.aborted) stop()
  await server.gone
  signal.removeEventListener('abort', stop)
  signal.throwIfAborted()
}
