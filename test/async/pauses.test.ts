import { expect, test } from 'vitest'
import { createPause } from '../../server/async/pauses.ts'

test('each pause is twice as long as the one before, up to the longest', async () => {
  const pause = createPause(8, 32)
  const lengths: number[] = []
  for (let i = 0; i < 4; i++) {
    const startMs = performance.now()
    await pause()
    lengths.push(performance.now() - startMs)
  }
  // A timer of Node.js may ring up to a millisecond early.
  for (const [i, ms] of [8, 16, 32, 32].entries()) expect(lengths[i]).toBeGreaterThan(ms - 1.5)
})
