import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client, Connection } from '@temporalio/client'
import { freePort } from '../../dev/ports.ts'
import { cacheFolder } from '../../dev/temporal/install-options.ts'
import { temporalProgram } from '../../dev/temporal/program.ts'
import { startTemporalServer } from '../../dev/temporal/server.ts'

export interface Temporal extends AsyncDisposable {
  /** `host:port`. It stays the same over a restart. */
  address: string
  /** The id of the current process. */
  pid(): number
  stop(): Promise<void>
  /** Starts the server again with all its data. */
  start(): Promise<void>
  /** The number of webhook workflows so far. */
  workflows(): Promise<number>
}

/** Starts Temporal's development server with a store that survives a restart. */
export async function startTemporal(): Promise<Temporal> {
  const installOptions = {
    report: console.log,
    signal: new AbortController().signal,
    cacheDir: cacheFolder(process.env),
  }
  const program = await temporalProgram(installOptions)
  const dir = mkdtempSync(join(tmpdir(), 'verdict-bench-temporal-'))
  const port = await freePort()
  const uiPort = await freePort()
  const options = { program, port, uiPort, dbFile: join(dir, 'temporal.db'), logFile: join(dir, 'log') }
  async function startServer() {
    const server = await startTemporalServer(options)
    if (!(await server.ready)) throw new Error('Temporal did not start')
    return server
  }
  let server = await startServer()
  const { address } = server
  return {
    address,
    pid: () => server.group,
    stop: () => server.stop(),
    async start() {
      server = await startServer()
    },
    async workflows() {
      const connection = await Connection.connect({ address })
      const { count } = await new Client({ connection }).workflow.count("WorkflowType = 'deliverWebhooks'")
      await connection.close()
      return count
    },
    async [Symbol.asyncDispose]() {
      await server.stop()
      rmSync(dir, { recursive: true })
    },
  }
}
