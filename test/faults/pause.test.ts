import { afterAll, beforeAll, expect, test } from 'vitest'
import { PAUSES, type Paused, pauseAt } from './pause.ts'
import { startWorld, type World } from './world.ts'

// As the quick one, but nobody touches the leases: everything takes the half minute it takes.

let world: World
let paused: Record<keyof typeof PAUSES, Paused>
beforeAll(async () => {
  world = await startWorld()
  await world.start()
  const pause = (point: keyof typeof PAUSES) => pauseAt(world, PAUSES[point], { waits: true })
  const [before, between, after] = await Promise.all([pause('before'), pause('between'), pause('after')])
  paused = { before, between, after }
})
afterAll(() => world.stop())

test('paused before the marker until the lease was over: no dot, and 500 says that nothing was sent', () => {
  const { entry } = paused.before
  expect(entry).toMatchObject({ status: 500, body: { error: 'transient_failure' } })
  expect(world.logs.mail.dots.filter(({ request }) => request === entry.request)).toEqual([])
})

test.each(['between', 'after'] as const)('paused %s marker and record until the lease was over: in doubt', (point) => {
  expect(paused[point].entry).toMatchObject({ status: 200, body: { in_doubt: true } })
})

test('the four logs agree', async () => {
  expect(await world.verdict()).toEqual([])
})
