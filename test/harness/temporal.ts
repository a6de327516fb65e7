import { devNull } from 'node:os'
import { inject } from 'vitest'
import { freePort } from '../../dev/ports.ts'
import { startTemporalServer } from '../../dev/temporal/server.ts'

export interface TestTemporal {
  /** `host:port` */
  address: string
  port: number
  uiUrl: string
  /** Keeps its connections but responds to nothing. A paused Temporal does not end with a test that is killed. */
  pause(): void
  resume(): void
  stop(): Promise<void>
}

/**
 * Starts a separate Temporal with the search attributes of webhooks, in 0.3 s. It forgets everything when it stops,
 * unless it has a file. Started again with the same port and file, it keeps its history. Stop it in `afterAll`.
 */
export async function startTemporal(options: { dbFile?: string; port?: number } = {}): Promise<TestTemporal> {
  const temporal = inject('temporal')
  if ('fault' in temporal) throw new Error(temporal.fault)
  for (let tries = 3; tries > 0; tries--) {
    const port = options.port ?? (await freePort())
    const uiPort = await freePort()
    const server = await startTemporalServer({ ...temporal, ...options, port, uiPort, logFile: devNull })
    const resume = () => {
      isPaused = false
      process.kill(-server.group, 'SIGCONT')
    }
    let isPaused = false
    const stop = () => {
      // A stopped server has no group any more.
      if (isPaused) resume()
      return server.stop()
    }
    const pause = () => {
      isPaused = true
      process.kill(-server.group, 'SIGSTOP')
    }
    if (await server.ready) return { address: server.address, port, uiUrl: server.uiUrl, pause, resume, stop }
  }
  throw new Error('Temporal did not start')
}
