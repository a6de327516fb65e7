import fc from 'fast-check'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Recording } from '../../server/db/recording.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'setTimeout', 'performance'] }))
afterEach(() => vi.useRealTimers())

const KINDS = ['marker', 'record'] as const
const action = fc.oneof(
  fc.record({ do: fc.constant('begin' as const), kind: fc.constantFrom(...KINDS) }),
  fc.record({ do: fc.constantFrom('stored' as const, 'failed' as const), which: fc.nat() }),
  fc.record({ do: fc.constant('proved' as const) }),
  fc.record({ do: fc.constant('wait' as const), ms: fc.integer({ min: 0, max: 2_000 }) }),
)

test('nothing is mailed exactly when a step was not stored for 3 s, and no other of its kind since it began, nor a probe', () => {
  fc.assert(
    fc.property(fc.array(action, { maxLength: 60 }), (actions) => {
      const recording = new Recording()
      const steps: { kind: (typeof KINDS)[number]; beganMs: number; step: ReturnType<typeof recording.begin> }[] = []
      /** Every step that began, and is neither stored nor proved by something since. */
      let unproved: typeof steps = []
      for (const each of actions) {
        if (each.do === 'wait') vi.advanceTimersByTime(each.ms)
        else if (each.do === 'begin') {
          steps.push({ kind: each.kind, beganMs: performance.now(), step: recording.begin(each.kind) })
          unproved.push(steps.at(-1)!)
        } else if (each.do === 'proved') {
          recording.proved()
          unproved = []
        } else if (steps.length > 0) {
          const [{ kind, step }] = steps.splice(each.which % steps.length, 1) as [(typeof steps)[number]]
          step[each.do]()
          if (each.do === 'stored') unproved = unproved.filter((other) => other.kind !== kind)
        }
        const longest = Math.max(0, ...unproved.map(({ beganMs }) => performance.now() - beganMs))
        expect(recording.waitingMs()).toBe(longest >= 3_000 ? longest : 0)
      }
    }),
  )
})

test('a row that PostgreSQL refuses again and again never keeps others from their leave', () => {
  const recording = new Recording()
  for (let second = 0; second < 20; second++) {
    const step = recording.begin('record')
    vi.advanceTimersByTime(1_000)
    step.refused()
  }
  expect(recording.waitingMs()).toBe(0)
})

test('while markers wait one a second is tried, and all go on once one is stored', async () => {
  const recording = new Recording()
  const first = recording.begin('marker')
  vi.advanceTimersByTime(3_000)
  const tried: number[] = []
  const waits = [0, 1, 2, 3].map((i) => recording.untilTried().then(() => void tried.push(i)))
  const leave = recording.untilStored().then(() => void tried.push(9))
  await vi.advanceTimersByTimeAsync(999)
  expect(tried).toEqual([])
  await vi.advanceTimersByTimeAsync(1)
  expect(tried).toEqual([0])
  await vi.advanceTimersByTimeAsync(1_000)
  expect(tried).toEqual([0, 1])
  first.stored()
  await Promise.all([...waits, leave])
  expect(tried.toSorted()).toEqual([0, 1, 2, 3, 9])
  expect(vi.getTimerCount()).toBe(0)
})

test('time in which the event loop was blocked does not count', () => {
  vi.useRealTimers()
  const recording = new Recording()
  recording.begin('marker')
  // Blocks this thread.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3_200)
  expect(recording.waitingMs()).toBe(0)
})

test('only a marker and a record of sends spare the next probe', () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...KINDS), { maxLength: 4 }), (kinds) => {
      const recording = new Recording()
      for (const kind of kinds) recording.begin(kind).stored()
      recording.begin('marker').failed()
      recording.begin('record').refused()
      recording.proved()
      expect(recording.wereStored()).toBe(new Set(kinds).size === 2)
      expect(recording.wereStored()).toBe(false)
    }),
  )
})

test('a marker whose delivery is over waits no longer', async () => {
  const recording = new Recording()
  recording.begin('record')
  vi.advanceTimersByTime(3_000)
  const over = new AbortController()
  const wait = expect(recording.untilTried(over.signal)).rejects.toThrow('over')
  over.abort(new Error('over'))
  await wait
})
