import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client, Connection } from '@temporalio/client'
import { cacheFolder } from '../../dev/temporal/bring-up.ts'
import { temporalProgram } from '../../dev/temporal/program.ts'
import { startTemporalServer } from '../../dev/temporal/server.ts'
import { freePort } from './port.ts'

export interface Temporal extends AsyncDisposable {
  /** `host:port`, also while it is away. */
  address: string
  goAway(): Promise<void>
  /** With everything it had. */
  comeBack(): Promise<void>
  /** How many workflows of webhooks it has seen. */
  workflows(): Promise<number>
}

/** Temporal's development server with a store that survives its absence. */
export async function startTemporal(): Promise<Temporal> {
  const bringUp = { tell: console.log, signal: new AbortController().signal, cacheDir: cacheFolder(process.env) }
  const program = await temporalProgram(bringUp)
  const dir = mkdtempSync(join(tmpdir(), 'verdict-bench-temporal-'))
  const port = await freePort()
  const uiPort = await freePort()
  const options = { program, port, uiPort, dbFile: join(dir, 'temporal.db'), logFile: join(dir, 'log') }
  async function start() {
    const server = await startTemporalServer(options)
    if (!(await server.ready)) throw new Error('Temporal did not start')
    return server
  }
  let server = await start()
  const { address } = server
  return {
    address,
    goAway: () => server.stop(),
    async comeBack() {
      server = await start()
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
