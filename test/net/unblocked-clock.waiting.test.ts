import fc from 'fast-check'
import { expect, test } from 'vitest'
import { UnblockedClock } from '../../net/unblocked-clock.ts'
import { letRun } from '../harness/waits.ts'

/** Blocks the event loop, and reads the clock every few milliseconds, as the many deliveries of a busy process do. */
function standStill(ms: number, clock: UnblockedClock, readEveryMs: number): void {
  const untilMs = performance.now() + ms
  for (let readMs = 0; performance.now() < untilMs; ) {
    if (performance.now() < readMs) continue
    clock.now()
    readMs = performance.now() + readEveryMs
  }
}

test('a blocked event loop does not pass on the clock, however often it is read meanwhile', async () => {
  const stop = fc.record({ ms: fc.integer({ min: 300, max: 400 }), readEveryMs: fc.integer({ min: 1, max: 500 }) })
  await fc.assert(
    fc.asyncProperty(stop, fc.boolean(), async ({ ms, readEveryMs }, isTicking) => {
      const clock = new UnblockedClock()
      const watch = clock.watch()
      standStill(ms, clock, readEveryMs)
      if (isTicking) await letRun(1)
      expect(clock.stalledMs()).toBeGreaterThan(ms - 60)
      watch[Symbol.dispose]()
      expect(clock.stalledMs()).toBeGreaterThan(ms - 60)
    }),
    { numRuns: 4 },
  )
})

test('time counts as blocked only while the clock is watched', () => {
  const clock = new UnblockedClock()
  const outer = clock.watch()
  clock.watch()[Symbol.dispose]()
  standStill(200, clock, 10)
  outer[Symbol.dispose]()
  const stalledMs = clock.stalledMs()
  expect(stalledMs).toBeGreaterThan(140)
  standStill(200, clock, 10)
  expect(clock.stalledMs()).toBe(stalledMs)
})
