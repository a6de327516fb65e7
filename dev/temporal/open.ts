import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Config } from '../../server/config/config.ts'
import { lastLines } from '../last-lines.ts'
import { freePort } from '../ports.ts'
import { Problem } from '../problem.ts'
import { cacheFolder } from './bring-up.ts'
import { temporalProgram } from './program.ts'
import { startTemporalServer, type TemporalServerOptions } from './server.ts'

export interface Temporal {
  /** `host:port`. Nothing may answer there yet. */
  address: string
  /** For the processes that use it. */
  env: NodeJS.ProcessEnv
  uiUrl: string | undefined
  /** Resolves when it is gone, or is not brought any more. */
  stop(): Promise<void>
}

export interface TemporalOptions {
  /** With an address, one that runs: none of ours to bring or to stop. */
  given: Pick<Config, 'temporal' | 'temporalUiUrl'>
  dataDir: string
  /** On ports that nobody else uses, instead of the usual ones. */
  anyPorts: boolean
  /** Says to a person how far it is. */
  tell(words: string): void
}

const USUAL_PORT = 7233
const USUAL_UI_PORT = 8233
const [FIRST_PAUSE_MS, LONGEST_PAUSE_MS] = [1000, 60_000]

/**
 * Temporal's address at once, and Temporal itself as soon as it can be had, in the background: what depends on it waits for it by
 * itself. Its workflows are kept in `dataDir/temporal.db`. It ends with the process that started it.
 */
export async function openTemporal({ given, dataDir, anyPorts, tell }: TemporalOptions): Promise<Temporal> {
  if (given.temporal)
    return { address: given.temporal.address, env: {}, uiUrl: given.temporalUiUrl, stop: async () => {} }
  const port = await freePort(anyPorts ? 0 : USUAL_PORT)
  const uiPort = await freePort(anyPorts ? 0 : USUAL_UI_PORT)
  const stopping = new AbortController()
  const running = keepRunning({ dataDir, port, uiPort, tell, signal: stopping.signal })
  const address = `127.0.0.1:${port}`
  const uiUrl = `http://127.0.0.1:${uiPort}`
  return {
    address,
    env: { ...withoutOthers(), TEMPORAL_ADDRESS: address, TEMPORAL_UI_URL: uiUrl },
    uiUrl,
    stop: () => {
      stopping.abort()
      return running
    },
  }
}

/** Temporal's own tools share these names: what they are told of another Temporal is not true of ours. */
function withoutOthers(): NodeJS.ProcessEnv {
  const names = Object.keys(process.env).filter((name) => name.startsWith('TEMPORAL_'))
  return Object.fromEntries(names.map((name) => [name, '']))
}

interface Running {
  dataDir: string
  port: number
  uiPort: number
  tell(words: string): void
  signal: AbortSignal
}

/** Never throws: without Temporal, only what waits for it waits. */
async function keepRunning({ dataDir, port, uiPort, tell, signal }: Running): Promise<void> {
  const logFile = join(dataDir, 'temporal.log')
  try {
    const program = await temporalProgram({ tell, signal, cacheDir: cacheFolder(process.env) })
    const options = { program, port, uiPort, dbFile: join(dataDir, 'temporal.db'), logFile }
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
      await runUntilItEnds(options, signal)
      tell(`Temporal ended. It is started again in ${pauseMs / 1000} s. ${await lastLines(logFile)}`)
      await sleep(pauseMs, undefined, { signal })
    }
  } catch (error) {
    if (signal.aborted) return
    const why = error instanceof Problem ? error.message : String(error)
    tell(`${why}\nWithout Temporal, retries and replays of webhooks wait. Sends and first attempts work.`)
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
