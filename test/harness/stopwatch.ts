// How long something takes on an idle machine, measured on a busy one.

const TICK_MS = 5
let tickedAtMs = performance.now()
let countedMs = 0

function count(): void {
  const nowMs = performance.now()
  countedMs += Math.min(nowMs - tickedAtMs, 2 * TICK_MS)
  tickedAtMs = nowMs
}

setInterval(count, TICK_MS).unref()

/**
 * Starts a stopwatch. Its `ms` are the milliseconds that passed while this process had a processor to run on: a pause of the whole
 * process, whatever its length, counts as 10 ms. Use it for upper bounds on waiting. For computation use `cpuStopwatch`.
 */
export function stopwatch(): { ms(): number } {
  count()
  const startedAtMs = countedMs
  return {
    ms() {
      count()
      return countedMs - startedAtMs
    },
  }
}

/** Starts a stopwatch of the processor time of this thread: for upper bounds on computation. Other processes do not count. */
export function cpuStopwatch(): { ms(): number } {
  const before = process.threadCpuUsage()
  return {
    ms() {
      const { user, system } = process.threadCpuUsage(before)
      return (user + system) / 1_000
    },
  }
}
