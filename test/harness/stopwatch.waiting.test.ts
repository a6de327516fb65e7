import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { cpuStopwatch, stopwatch } from './stopwatch.ts'
import { takes } from './waits.ts'

test('a stopwatch counts the time that this process waits, and only 10 ms of each pause of the whole process', async () => {
  const watch = stopwatch()
  await takes(300)
  const waitedMs = watch.ms()
  expect(waitedMs).toBeGreaterThan(50)
  execFileSync('sleep', ['1'])
  // The pause of a second counts as 10 ms.
  expect(watch.ms() - waitedMs).toBeLessThan(50)
})

test('a processor stopwatch counts the time of computation, not of waiting', () => {
  const watch = cpuStopwatch()
  execFileSync('sleep', ['0.5'])
  const waitedMs = watch.ms()
  // Half of the time that it waits.
  expect(waitedMs).toBeLessThan(250)
  let sum = 0
  for (let i = 0; i < 20_000_000; i++) sum += Math.sqrt(i)
  expect(sum).toBeGreaterThan(0)
  expect(watch.ms() - waitedMs).toBeGreaterThan(2)
})
