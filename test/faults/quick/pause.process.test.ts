import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { PAUSES, type Paused, pauseAt } from '../pause.ts'
import { startWorld, type World } from '../world.ts'

let world: World
let paused: Record<keyof typeof PAUSES, Paused>
beforeAll(async () => {
  world = await startWorld()
  await world.start()
  const pause = (point: keyof typeof PAUSES) => pauseAt(world, PAUSES[point])
  const [before, between, after] = await Promise.all([pause('before'), pause('between'), pause('after')])
  paused = { before, between, after }
})
afterAll(() => world.stop())

test('a process that was paused past its lease before the marker sets none and sends no dot; nothing was sent', () => {
  const { entry, askedLate } = paused.before
  expect(askedLate).toBe(true)
  expect(entry).toMatchObject({ status: 500, body: { error: 'transient_failure' } })
  expect(world.logs.mail.dots.filter(({ request }) => request === entry.request)).toEqual([])
})

test.each(['between', 'after'] as const)(
  'paused %s marker and record: it answers what the sweeper of another process settled, in doubt',
  (point) => {
    expect(paused[point].entry).toMatchObject({ status: 200, body: { in_doubt: true } })
  },
)

test('paused past its lease with nobody there to settle the message: no marker and no dot either', async () => {
  const lonely = await startWorld()
  onTestFinished(lonely.stop)
  const { askedLate } = await pauseAt(lonely, PAUSES.before, { alone: true })
  expect(askedLate).toBe(true)
  expect(lonely.logs.mail.dots).toEqual([])
  expect(await lonely.verdict()).toEqual([])
})

test('the four logs agree', async () => {
  expect(await world.verdict()).toEqual([])
})
