import { setTimeout as sleep } from 'node:timers/promises'
import { type Place, startTemporalCluster } from '../test/cluster/temporal.ts'
import { measure, untilCalm } from './load/cpu.ts'
import { startDatabase } from './load/database.ts'
import { startDeliveries } from './load/deliveries.ts'
import { startTemporal } from './load/temporal.ts'
import type { Report, RunOptions } from './report.ts'

const WARM_UP = 100
const IDLE_S = 15

/**
 * The workflows of webhooks on a cluster of Temporal (two processes of each service, with PostgreSQL), and the same on
 * the development server that `npm start` runs. Needs HAProxy.
 */
export async function run({ size: workflows = 300 }: RunOptions): Promise<Report> {
  const development = await ofDevelopmentServer(workflows)
  const cluster = await ofCluster(workflows)
  return {
    figures: {
      'development server, workflows/s': development.perSecond,
      'development server, ms of CPU each': development.cpuMs[0]!,
      'development server, idle, % of a core': development.idlePercent[0]!,
      'cluster, workflows/s': cluster.perSecond,
      'cluster, ms of CPU each': cluster.cpuMs[0]!,
      'PostgreSQL of the cluster, ms of CPU each': cluster.cpuMs[1]!,
      'cluster, idle, % of a core': cluster.idlePercent[0]!,
      'PostgreSQL of the cluster, idle, % of a core': cluster.idlePercent[1]!,
    },
    bars: [],
  }
}

async function ofDevelopmentServer(workflows: number) {
  await using temporal = await startTemporal()
  return await figuresOf(temporal.address, [[temporal.pid()]], workflows)
}

async function ofCluster(workflows: number) {
  await using parts = new AsyncDisposableStack()
  const database = parts.use(await startDatabase())
  const { hostname: host, port, username: user, password } = new URL(database.url)
  const place = (number: number): Place => ({
    name: `t${number}`,
    address: `127.7.1.${number}`,
    command: (line) => line,
  })
  const cluster = await startTemporalCluster({
    places: [place(1), place(2)],
    proxy: place(3),
    database: { host, port: Number(port), user, password },
  })
  parts.defer(cluster.drop)
  return await figuresOf(cluster.address, [cluster.services.map(({ pid }) => pid()), [database.pid]], workflows)
}

/** `trees` has the process ids of Temporal, and those of its database. */
async function figuresOf(address: string, trees: number[][], workflows: number) {
  await using deliveries = await startDeliveries(address)
  await deliveries.run(WARM_UP)
  await untilCalm()
  const idle = await measure(trees, () => sleep(IDLE_S * 1_000))
  const { seconds, cpu, foreign } = await measure(trees, () => deliveries.run(workflows))
  console.log(`${address}: ${seconds} s, other work took ${Math.round(foreign * 100)} % of the machine`)
  return {
    perSecond: workflows / seconds,
    cpuMs: cpu.map((spent) => (spent * 1_000) / workflows),
    idlePercent: idle.cpu.map((spent) => (spent * 100) / idle.seconds),
  }
}
