import { expect, test } from 'vitest'
import { type Checks, shareReadiness } from '../../../server/http/site/readiness.ts'
import { outlast, quietFor, takes } from '../../harness/waits.ts'

/** Checks that a test sets, with the number of their runs, and of runs at a time. */
function scriptedChecks(checkMs = 0) {
  const asked = { times: 0, now: 0, atOnce: 0 }
  const script = { database: 'ok', asked, check }
  async function check(): Promise<Checks> {
    asked.times++
    asked.now++
    asked.atOnce = Math.max(asked.atOnce, asked.now)
    const { database } = script
    await takes(checkMs)
    asked.now--
    return { database }
  }
  return script
}

const NO_DRAIN = new AbortController().signal
const statusOf = async ({ read }: ReturnType<typeof shareReadiness>) => (await read()).status

test('the checks run once a second, for any number of callers', async () => {
  const { check, asked } = scriptedChecks()
  const readiness = shareReadiness({ check, draining: NO_DRAIN })
  await Promise.all(Array.from({ length: 1_000 }, () => readiness.read()))
  await readiness.read()
  expect(asked.times).toBe(1)
  await outlast(1_000)
  await readiness.read()
  expect(asked.times).toBe(2)
})

test('a check that takes longer than a second never runs twice at a time', async () => {
  const { check, asked } = scriptedChecks(1_500)
  const readiness = shareReadiness({ check, draining: NO_DRAIN })
  const first = readiness.read()
  await outlast(1_200)
  await Promise.all([first, readiness.read()])
  expect(asked).toMatchObject({ times: 1, atOnce: 1 })
})

test('a fault and its end show within a second and the duration of a check', async () => {
  const script = scriptedChecks()
  const readiness = shareReadiness({ check: script.check, draining: NO_DRAIN })
  expect(await statusOf(readiness)).toBe('ready')
  for (const [database, status] of [
    ['failing', 'not_ready'],
    ['ok', 'ready'],
  ] as const) {
    script.database = database
    await outlast(1_000)
    expect(await statusOf(readiness)).toBe(status)
  }
})

test('the drain shows at once', async () => {
  const draining = new AbortController()
  const readiness = shareReadiness({ check: scriptedChecks().check, draining: draining.signal })
  expect(await statusOf(readiness)).toBe('ready')
  draining.abort()
  expect(await readiness.read()).toEqual({ status: 'not_ready', checks: { database: 'ok', draining: 'yes' } })
})

test('five hundred followers share one check a second, and each gets every change once', async () => {
  const script = scriptedChecks()
  const draining = new AbortController()
  const { follow } = shareReadiness({ check: script.check, draining: draining.signal })
  const received = Array.from({ length: 500 }, (): boolean[] => [])
  const startedAt = performance.now()
  const following = received.map(async (mine) => {
    for await (const ready of follow(new AbortController().signal)) mine.push(ready)
  })
  const all = (expected: boolean[]) =>
    expect.poll(() => received.every((mine) => String(mine) === String(expected))).toBe(true)
  await all([true])
  script.database = 'failing'
  await all([true, false])
  script.database = 'ok'
  await all([true, false, true])
  draining.abort()
  await Promise.all(following)
  expect(received[0]).toEqual([true, false, true, false])
  expect(script.asked.times).toBeLessThanOrEqual(Math.ceil((performance.now() - startedAt) / 1_000) + 1)
  expect(script.asked.atOnce).toBe(1)
})

test('no check runs for a follower that has left', async () => {
  const { check, asked } = scriptedChecks()
  const { follow } = shareReadiness({ check, draining: NO_DRAIN })
  const leaving = new AbortController()
  for await (const _ of follow(leaving.signal)) leaving.abort()
  const { times } = asked
  await quietFor(2_200)
  expect(asked.times).toBe(times)
})
