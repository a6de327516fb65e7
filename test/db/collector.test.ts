import fc from 'fast-check'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { createCollector } from '../../server/db/collector.ts'
import { stopwatch } from '../harness/stopwatch.ts'
import { outlast } from '../harness/waits.ts'

const row = (id: number) => ({ json: JSON.stringify({ id }), id })
/** Each row may be locked by itself. */
const groupOf = ({ json }: { json: string }) => json
const sqlError = (code: string) => Object.assign(new Error(code), { code })

test('a row that arrives alone goes out at once', async () => {
  const batches: number[][] = []
  const add = createCollector(
    async (rows: { json: string; id: number }[]) => {
      batches.push(rows.map((r) => r.id))
      return rows.map((r) => r.id * 2)
    },
    { groupOf },
  )
  expect(await add(row(1))).toBe(2)
  expect(batches).toEqual([[1]])
})

test('rows that arrive while a statement runs go out as one statement, each with its own result', async () => {
  const batches: number[][] = []
  const gate = Promise.withResolvers<void>()
  const add = createCollector(
    async (rows: { json: string; id: number }[]) => {
      batches.push(rows.map((r) => r.id))
      await gate.promise
      return rows.map((r) => r.id * 10)
    },
    { groupOf },
  )
  const results = [1, 2, 3, 4, 5].map((id) => add(row(id)))
  gate.resolve()
  expect(await Promise.all(results)).toEqual([10, 20, 30, 40, 50])
  expect(batches).toEqual([[1], [2, 3, 4, 5]])
})

test('with a linger time, a row waits that long for others; a full batch does not wait', async () => {
  const batches: number[] = []
  const add = createCollector(
    async (rows: { json: string; id: number }[]) => {
      batches.push(rows.length)
      return rows.map((r) => r.id)
    },
    { lingerMs: 50, groupOf },
  )
  const startedMs = performance.now()
  const first = add(row(1))
  await outlast(10)
  await Promise.all([first, add(row(2))])
  expect(batches).toEqual([2])
  expect(performance.now() - startedMs).toBeGreaterThan(45)
  await Promise.all(Array.from({ length: 250 }, (_, id) => add(row(id))))
  expect(batches).toEqual([2, 100, 100, 50])
})

describe('with several sends in flight', () => {
  /** A collector for this many sends, and the batches that went out. Its statements end when `end` is called. */
  function collectorFor(sends: number) {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const batches: number[][] = []
    let running = Promise.withResolvers<void>()
    const add = createCollector(
      async (rows: { json: string; id: number }[]) => {
        batches.push(rows.map((r) => r.id))
        await running.promise
        return rows.map((r) => r.id)
      },
      { load: { sends }, groupOf },
    )
    const end = async () => {
      running.resolve()
      running = Promise.withResolvers()
      await vi.advanceTimersByTimeAsync(0)
    }
    /** Whether the row goes out without a wait. Its statement then ends. */
    const isPrompt = async (id: number) => {
      void add(row(id))
      const prompt = batches.at(-1)?.includes(id) ?? false
      await vi.advanceTimersByTimeAsync(2)
      await end()
      return prompt
    }
    return { add, batches, end, isPrompt }
  }

  test('a row waits for those of the others, and goes out when all are there, or after 2 ms', async () => {
    const { add, batches, end } = collectorFor(3)
    for (const id of [1, 2]) void add(row(id))
    expect(batches).toEqual([])
    void add(row(3))
    expect(batches).toEqual([[1, 2, 3]])
    await end()
    for (const id of [4, 5]) void add(row(id))
    await vi.advanceTimersByTimeAsync(1)
    expect(batches).toHaveLength(1)
    await vi.advanceTimersByTimeAsync(1)
    expect(batches.at(-1)).toEqual([4, 5])
  })

  test('the row of the only caller never waits', async () => {
    const { isPrompt } = collectorFor(1)
    for (let id = 1; id <= 5; id++) expect(await isPrompt(id)).toBe(true)
  })

  test('rows that arrive while a statement runs go out as soon as it has ended', async () => {
    const { add, batches, end } = collectorFor(3)
    for (const id of [1, 2, 3]) void add(row(id))
    void add(row(4))
    await end()
    expect(batches).toEqual([[1, 2, 3], [4]])
  })

  test('while the others bring no rows, fewer and fewer rows wait for them', async () => {
    const { isPrompt } = collectorFor(5)
    const prompt: boolean[] = []
    for (let id = 1; id <= 300; id++) prompt.push(await isPrompt(id))
    const waits = prompt.flatMap((isPrompt, i) => (isPrompt ? [] : [i + 1]))
    expect(waits).toEqual([1, 4, 9, 18, 35, 68, 133, 198, 263])
  })

  test('rows wait again when others bring rows again', async () => {
    const { add, end, isPrompt } = collectorFor(5)
    expect([await isPrompt(1), await isPrompt(2)]).toEqual([false, true])
    void add(row(3))
    void add(row(4))
    await end()
    await end()
    expect(await isPrompt(5)).toBe(false)
  })
})

test('a slow statement, or one whose result is lost, does not delay the others', async () => {
  const batches: number[][] = []
  const gate = Promise.withResolvers<void>()
  const add = createCollector(
    async (rows: { json: string; id: number }[]) => {
      batches.push(rows.map((r) => r.id))
      if (rows.some((r) => r.id === 1)) await gate.promise
      return rows.map((r) => r.id * 10)
    },
    { groupOf },
  )
  const stuck = add(row(1))
  const watch = stopwatch()
  expect(await Promise.all([3, 4].map((id) => add(row(id))))).toEqual([30, 40])
  // Behind the statement that is stuck they would wait for ever.
  expect(watch.ms()).toBeLessThan(1_000)
  expect(await add(row(5))).toBe(50)
  gate.resolve()
  expect(await stuck).toBe(10)
  expect(batches).toEqual([[1], [3, 4], [5]])
})

test('a statement takes at most 100 rows, and no more than 4 MiB of them', async () => {
  const sizes: number[] = []
  const gate = Promise.withResolvers<void>()
  const add = createCollector(
    async (rows: { json: string }[]) => {
      sizes.push(rows.length)
      await gate.promise
      return rows
    },
    { groupOf },
  )
  const small = Array.from({ length: 202 }, (_, id) => add(row(id)))
  const large = Array.from({ length: 4 }, () => add({ json: 'x'.repeat(3 * 1024 * 1024) }))
  gate.resolve()
  await Promise.all([...small, ...large])
  expect(sizes).toEqual([1, 100, 100, 3, 2])
})

test('a batch that loses a deadlock runs again unchanged', async () => {
  let runs = 0
  const add = createCollector(
    async (rows: { json: string; id: number }[]) => {
      if (++runs < 3) throw sqlError('40P01')
      return rows.map((r) => r.id)
    },
    { groupOf },
  )
  expect(await add(row(7))).toBe(7)
  expect(runs).toBe(3)
})

test('one poisonous row fails alone', async () => {
  const gate = Promise.withResolvers<void>()
  const add = createCollector(
    async (rows: { json: string; id: number }[]) => {
      await gate.promise
      if (rows.some((r) => r.id === 4)) throw sqlError('22P05')
      return rows.map((r) => r.id)
    },
    { groupOf },
  )
  const results = [1, 2, 3, 4, 5].map((id) => add(row(id)))
  gate.resolve()
  const settled = await Promise.allSettled(results)
  expect(settled.map((result) => result.status)).toEqual([
    'fulfilled',
    'fulfilled',
    'fulfilled',
    'rejected',
    'fulfilled',
  ])
})

test('an unknown result reaches every row of the batch, and is not run again', async () => {
  let runs = 0
  const gate = Promise.withResolvers<void>()
  const add = createCollector(
    async (_rows: { json: string; id: number }[]): Promise<number[]> => {
      runs++
      await gate.promise
      throw Object.assign(new Error('lost'), { code: 'CONNECTION_CLOSED' })
    },
    { groupOf },
  )
  const results = [1, 2, 3, 4].map((id) => add(row(id)))
  gate.resolve()
  const settled = await Promise.allSettled(results)
  expect(settled.every((result) => result.status === 'rejected')).toBe(true)
  expect(runs).toBe(2)
})

test('a row fails for a lock only when rows of its own group are locked, however groups are mixed', async () => {
  const groups = fc.array(fc.nat(5), { minLength: 1, maxLength: 40 })
  await fc.assert(
    fc.asyncProperty(groups, fc.uniqueArray(fc.nat(5)), async (ofRows, locked) => {
      const add = createCollector(
        async (rows: { json: string; group: number }[]) => {
          if (rows.some(({ group }) => locked.includes(group))) throw sqlError('55P03')
          return rows.map(({ group }) => group)
        },
        { groupOf: ({ group }) => String(group) },
      )
      const results = await Promise.allSettled(ofRows.map((group) => add({ json: '', group })))
      const failed = results.flatMap(({ status }, i) => (status === 'rejected' ? [ofRows[i]] : []))
      expect(failed).toEqual(ofRows.filter((group) => locked.includes(group)))
    }),
  )
})
