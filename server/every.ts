/** Does `work` every so often until stopped, one at a time. `failed` hears of what went wrong; the next round tries again. */
export function every(ms: number, work: () => Promise<unknown>, failed: (error: unknown) => void): { stop(): void } {
  let running = false
  const round = async () => {
    if (running) return
    running = true
    await work().catch(failed)
    running = false
  }
  const timer = setInterval(round, ms).unref()
  return { stop: () => clearInterval(timer) }
}
