import { startProgram, waitForOutput } from '../../harness/process.ts'
import type { Logs, ProcessEvent } from '../../reliability/logs.ts'
import type { Point } from '../points.ts'
import { startWire, type Wire } from '../wire.ts'

export interface Worker {
  name: string
  pid: number
  wire: Wire
  /** Its log. */
  output(): string
  /** Sends SIGKILL immediately. */
  kill(): void
  /** Sends SIGTERM. Resolves when the worker has ended. */
  terminate(): Promise<void>
  ended: Promise<unknown>
}

/** Starts a worker with a proxy between it and its database. */
export async function startWorker(
  name: string,
  { logs, databaseUrl, env, root }: { logs: Logs; databaseUrl: string; env: NodeJS.ProcessEnv; root?: string },
): Promise<Worker> {
  const wire = await startWire(databaseUrl, new Map())
  const throughProxy = new URL(databaseUrl)
  throughProxy.host = `127.0.0.1:${wire.postgres.port}`
  const workerEnv = { ...env, DATABASE_URL: throughProxy.href }
  const program = startProgram(process.execPath, ['workflows/worker.ts'], workerEnv, root)
  await waitForOutput(program, /"msg":"ready"/)
  note({ event: 'started' })
  const ended = program.ended.then(async (how) => {
    note({ event: 'ended', how, stderr: program.stderr().slice(-2_000) })
    await wire.close()
  })

  type WorkerEvent<E = ProcessEvent> = E extends ProcessEvent ? Omit<E, 'node' | 'atMs'> : never
  function note(event: WorkerEvent): void {
    logs.processes.push({ node: name, atMs: performance.now(), ...event })
  }

  return {
    name,
    pid: program.pid,
    wire,
    output: program.stdout,
    ended,
    kill() {
      note({ event: 'killed' })
      program.kill('SIGKILL')
    },
    async terminate() {
      note({ event: 'terminated', inFlight: [] })
      program.kill('SIGTERM')
      await ended
    },
  }
}

/** Kills a process at the first message of the point. Resolves when it has ended. */
export function killProcessAt({ wire, kill, ended }: Pick<Worker, 'wire' | 'kill' | 'ended'>, { is, act }: Point) {
  let isDead = false
  wire.onEvent = (event) => {
    if (isDead || !is(event)) return undefined
    isDead = true
    kill()
    return act
  }
  return ended
}
