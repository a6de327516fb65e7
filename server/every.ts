/**
 * Runs `work` at an interval until stopped, one run at a time. A run that fails calls `onError`, and the next one tries
 * again.
 */
export function every(ms: number, work: () => Promise<unknown>, onError: (error: unknown) => void): { stop(): void } {
  let isRunning = false
  const round = async () => {
    if (isRunning) return
    isRunning = true
    await work().catch(onError)
    isRunning = false
  }
  const timer = setInterval(round, ms).unref()
  return { stop: () => clearInterval(timer) }
}
