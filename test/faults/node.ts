import type { Sql } from 'postgres'
import { type RunningApi, startApiProcess } from '../harness/process.ts'
import { pauseFor } from '../harness/waits.ts'
import type { Logs, OpenRow, ProcessEvent } from '../reliability/logs.ts'
import { type Client, createClient } from './client.ts'
import { endLeases, openRows, waitForSessionsToEnd } from './snapshot.ts'
import { startWire, type Wire } from './wire.ts'

/** A process of the API, with a proxy on each of its connections, and a caller. */
export interface Node {
  name: string
  api: RunningApi
  wire: Wire
  client: Client
  /** Sends SIGKILL immediately. */
  kill(): void
  /**
   * Cleans up after a killed process: waits until its database sessions have ended, logs the sends it left open, and
   * ends its leases, unless `endsLeases` is false.
   */
  cleanUp(options?: { endsLeases: boolean }): Promise<OpenRow[]>
  pause(): void
  resume(): void
  /** Sends SIGTERM. Resolves when the process has ended. */
  terminate(): Promise<void>
}

export interface NodeParts {
  sql: Sql
  logs: Logs
  key: string
  databaseUrl: string
  mailPorts: Map<string, number>
  env: NodeJS.ProcessEnv
}

export async function startNode(name: string, parts: NodeParts): Promise<Node> {
  const { sql, logs, key, databaseUrl, mailPorts, env } = parts
  const wire = await startWire(databaseUrl, mailPorts)
  const throughProxy = new URL(databaseUrl)
  throughProxy.host = `127.0.0.1:${wire.postgres.port}`
  // Each mail server has two domains, because a send has a transaction for each domain of a site.
  const routes = [...wire.mail].flatMap(([domain, { port }]) =>
    [domain, `also.${domain}`].map((each) => `${each}=127.0.0.1:${port}`),
  )
  const api = await startApiProcess({
    DATABASE_URL: throughProxy.href,
    SMTP_ROUTES: routes.join(','),
    LOG_LEVEL: 'warn',
    ...env,
  })
  wire.http.target = { host: '127.0.0.1', port: Number(new URL(api.url).port) }
  const client = createClient({ node: name, url: `http://127.0.0.1:${wire.http.port}`, key }, logs.requests)
  note({ event: 'started' })
  api.ended.then((how) => note({ event: 'ended', how, stderr: api.stderr().slice(-2_000) }))

  type NodeEvent<E = ProcessEvent> = E extends ProcessEvent ? Omit<E, 'node' | 'atMs'> : never
  function note(event: NodeEvent): void {
    logs.processes.push({ node: name, atMs: performance.now(), ...event })
  }

  function kill(): void {
    note({ event: 'killed' })
    api.kill('SIGKILL')
  }

  async function cleanUp({ endsLeases } = { endsLeases: true }): Promise<OpenRow[]> {
    await api.ended
    await waitForSessionsToEnd(sql, wire.postgres.ports)
    const open = (await openRows(sql)).filter(({ claim }) => wire.uuids.has(claim))
    note({ event: 'crashed', open })
    if (endsLeases) await endLeases(sql, { claims: [...wire.uuids] })
    client.close()
    await wire.close()
    return open
  }

  async function terminate(): Promise<void> {
    const inFlight = [...client.running]
    note({ event: 'terminated', inFlight: inFlight.map(({ request }) => request) })
    await api.kill('SIGTERM')
    // The last responses may still be in transit: this process carries them, and may be busy. A cut request ends at
    // once.
    const untilMs = performance.now() + 30_000
    while (inFlight.some((entry) => client.running.has(entry)) && performance.now() < untilMs) await pauseFor(10)
    client.close()
    await wire.close()
  }

  function pause(): void {
    note({ event: 'paused' })
    process.kill(api.pid, 'SIGSTOP')
  }

  function resume(): void {
    note({ event: 'resumed' })
    process.kill(api.pid, 'SIGCONT')
  }

  return { name, api, wire, client, kill, cleanUp, pause, resume, terminate }
}
