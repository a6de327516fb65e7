import { onTestFinished, vi } from 'vitest'

/**
 * Moves `performance.now()` far from its start until the test ends, so that no difference of two times looks like one
 * of them. `advance` moves it further.
 */
export function farClock(): { advance(ms: number): void } {
  const now = performance.now.bind(performance)
  let laterMs = 1e9
  const spy = vi.spyOn(performance, 'now').mockImplementation(() => now() + laterMs)
  onTestFinished(() => void spy.mockRestore())
  return {
    advance(ms) {
      laterMs += ms
    },
  }
}
