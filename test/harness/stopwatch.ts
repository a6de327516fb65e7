// Measures on a busy machine how long something would take on an idle one.

const TICK_MS = 5
let lastTickMs = performance.now()
let totalMs = 0

function count(): void {
  const nowMs = performance.now()
  totalMs += Math.min(nowMs - lastTickMs, 2 * TICK_MS)
  lastTickMs = nowMs
}

setInterval(count, TICK_MS).unref()

/**
 * Starts a stopwatch. `ms` returns the milliseconds that passed while this process had a processor to run on: a pause
 * of the whole process counts as 10 ms, however long it was. Use it for upper bounds on waiting. For computation use
 * `cpuStopwatch`.
 */
export function stopwatch(): { ms(): number } {
  count()
  const startedAtMs = totalMs
  return {
    ms() {
      count()
      return totalMs - startedAtMs
    },
  }
}

/**
 * Starts a stopwatch of this thread's processor time, for upper bounds on computation. Other processes do not count.
 */
export function cpuStopwatch(): { ms(): number } {
  const before = process.threadCpuUsage()
  return {
    ms() {
      const { user, system } = process.threadCpuUsage(before)
      return (user + system) / 1_000
    },
  }
}
