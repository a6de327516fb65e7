import { readdirSync, readFileSync } from 'node:fs'
import { monitorEventLoopDelay, performance } from 'node:perf_hooks'
import type { Metrics } from './metrics.ts'

/** How often a new measurement of delays begins. A scrape reads the last whole one and the current one. */
const WINDOW_MS = 10_000
/** Each tick wakes a sleeping process. A longer block of the event loop is always measured, short by this at most. */
const RESOLUTION_MS = 100

export type Thread = 'main' | 'first_attempts'

/** Watches the event loop of this thread. Ends with the process. */
export function watchEventLoop(metrics: Metrics, thread: Thread): void {
  let last = { p50: 0, p99: 0, max: 0 }
  const histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
  histogram.enable()
  const current = () => {
    if (histogram.count === 0) return { p50: 0, p99: 0, max: 0 }
    const [p50, p99, max] = [histogram.percentile(50), histogram.percentile(99), histogram.max]
    return { p50: secondsLate(p50), p99: secondsLate(p99), max: secondsLate(max) }
  }
  setInterval(() => {
    last = current()
    histogram.reset()
  }, WINDOW_MS).unref()

  metrics.eventLoopDelay.read(() => {
    const now = current()
    return [
      [{ thread, statistic: 'p50' }, Math.max(last.p50, now.p50)],
      [{ thread, statistic: 'p99' }, Math.max(last.p99, now.p99)],
      [{ thread, statistic: 'max' }, Math.max(last.max, now.max)],
    ]
  })
  metrics.eventLoopBusy.read(() => [[{ thread }, performance.eventLoopUtilization().active / 1_000]])
}

/** The histogram counts the whole time between two ticks, in nanoseconds. */
const secondsLate = (ns: number) => Math.max(0, ns / 1e9 - RESOLUTION_MS / 1_000)

/** Reads processor time, memory and open files at each scrape. Only Linux shows the files. */
export function watchProcess(metrics: Metrics, version: string): void {
  const startedAt = Date.now() / 1_000 - process.uptime()
  metrics.build.read(() => [[{ version, node: process.versions.node, process: metrics.process }, 1]])
  metrics.startTime.read(() => [[{}, startedAt]])
  metrics.cpu.read(() => {
    const { user, system } = process.cpuUsage()
    return [
      [{ mode: 'user' }, user / 1e6],
      [{ mode: 'system' }, system / 1e6],
    ]
  })
  metrics.memory.read(() => {
    const { rss, heapUsed, external } = process.memoryUsage()
    return [
      [{ kind: 'resident' }, rss],
      [{ kind: 'heap' }, heapUsed],
      [{ kind: 'external' }, external],
    ]
  })
  metrics.openFiles.read(() => onLinux(() => readdirSync('/proc/self/fd').length))
  metrics.openFilesLimit.read(() =>
    onLinux(() => Number(/^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'latin1'))?.[1])),
  )
}

function onLinux(read: () => number): [Record<string, never>, number][] {
  return process.platform === 'linux' ? [[{}, read()]] : []
}
