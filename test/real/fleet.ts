import { freePort } from '../../dev/ports.ts'
import type { Worker } from '../faults/webhooks/worker.ts'
import type { WebhookWorld } from '../faults/webhooks/world.ts'
import { type RunningApi, startApiProcess } from '../harness/process.ts'

export type Release = 'previous' | 'current'

/** The stop of an API process, by `performance.now()`. */
export interface Stop {
  release: Release
  fromMs: number
  toMs: number
}

/** Shorter than in production: nginx checks no readiness, so it learns of a restart from our listener only. */
const DRAIN_GRACE_MS = '300'

/** The releases of the starts on a port, by turns: every change from one release to the other or to itself occurs. */
const RELEASES: readonly Release[] = ['current', 'current', 'previous', 'previous']

/** Starts two API processes and a worker of the previous release, whose files are in `root`. */
export async function startFleet(run: WebhookWorld, root: string) {
  const rootOf = { previous: root, current: undefined }
  const ports = [await freePort(), await freePort()]
  const releaseOf = new Map<number, Release>()
  const stops: Stop[] = []
  const workers: Worker[] = []
  const slots = await Promise.all(ports.map((_, slot) => startApi(slot, 'previous')))
  await startWorker('previous')
  let restarts = 0

  async function startApi(slot: number, release: Release) {
    return { release, api: await startLoggedApi(run, ports[slot]!, rootOf[release]) }
  }

  async function startWorker(release: Release): Promise<void> {
    const worker = await run.work(rootOf[release])
    releaseOf.set(worker.pid, release)
    workers.push(worker)
  }

  /** Restarts the API processes in turn, as the next release of `RELEASES`. Throws unless the old one ends with 0. */
  async function restartApi(): Promise<void> {
    const [slot, start] = [restarts % 2, Math.floor(restarts / 2)]
    restarts++
    const { release, api } = slots[slot]!
    const fromMs = performance.now()
    const exit = await api.kill('SIGTERM')
    if (exit !== 0) throw new Error(`an API process of the ${release} release ended with ${exit}\n${api.stderr()}`)
    stops.push({ release, fromMs, toMs: performance.now() })
    slots[slot] = await startApi(slot, RELEASES[(start + slot) % RELEASES.length]!)
  }

  /** Stops the oldest worker. One of the other release takes its place. */
  async function restartWorker(): Promise<void> {
    const oldest = workers.shift()!
    await oldest.terminate()
    await startWorker(releaseOf.get(oldest.pid) === 'current' ? 'previous' : 'current')
  }

  async function stop(): Promise<void> {
    for (const { api } of slots) await api.kill('SIGKILL')
  }

  return { ports, stops, releaseOf, startWorker, restartApi, restartWorker, stop }
}

let names = 0

/** Starts an API process on a port, without proxies on its connections, and logs its start and end. */
async function startLoggedApi(run: WebhookWorld, port: number, root?: string): Promise<RunningApi> {
  const { env, servers, database, logs } = run
  const node = `api-${++names}`
  const routes = Array.from(servers, ([domain, server]) => `${domain}=127.0.0.1:${server.port}`)
  const more = { DATABASE_URL: database.url, PORT: String(port), DRAIN_GRACE_MS, LOG_LEVEL: 'warn' }
  const api = await startApiProcess({ ...env, SMTP_ROUTES: routes.join(), ...more }, root)
  logs.processes.push({ node, atMs: performance.now(), event: 'started' })
  api.ended.then((how) => {
    const stderr = api.stderr().slice(-2_000)
    logs.processes.push({ node, atMs: performance.now(), event: 'ended', how, stderr })
  })
  return {
    ...api,
    kill(signal) {
      const event = signal === 'SIGKILL' ? { event: 'killed' as const } : { event: 'terminated' as const, inFlight: [] }
      logs.processes.push({ node, atMs: performance.now(), ...event })
      return api.kill(signal)
    },
  }
}
