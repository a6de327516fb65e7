import { execFileSync } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { cpuMs, stopwatch } from './stopwatch.ts'

test('a stopwatch counts what this process waits for, and 10 ms of each pause of the process', async () => {
  const watch = stopwatch()
  await sleep(300)
  const waitedMs = watch.ms()
  expect(waitedMs).toBeGreaterThan(50)
  execFileSync('sleep', ['1'])
  expect(watch.ms() - waitedMs).toBeLessThan(50)
})

test('processor time is the time of the work, not of the waiting', () => {
  expect(cpuMs(() => execFileSync('sleep', ['0.5']))).toBeLessThan(250)
  const turns = (count: number) => () => {
    let sum = 0
    for (let i = 0; i < count; i++) sum += Math.sqrt(i)
    return sum
  }
  expect(cpuMs(turns(20_000_000))).toBeGreaterThan(2)
})
