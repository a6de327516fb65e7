/**
 * Runs `work` at an interval until stopped, one run at a time. A run that fails calls `onError`, and the next one tries
 * again. A run that fails after the stop lacks what was closed meanwhile: it is not reported.
 */
export function runEvery(
  ms: number,
  work: () => Promise<unknown>,
  onError: (error: unknown) => void,
): { stop(): void } {
  let isRunning = false
  let isStopped = false
  const round = async () => {
    if (isRunning) return
    isRunning = true
    try {
      await work()
    } catch (error) {
      if (!isStopped) onError(error)
    } finally {
      isRunning = false
    }
  }
  const timer = setInterval(() => void round(), ms).unref()
  return {
    stop() {
      isStopped = true
      clearInterval(timer)
    },
  }
}
