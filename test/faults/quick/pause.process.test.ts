import { beforeAll, expect, test } from 'vitest'
import { untilEnd } from '../../harness/until-end.ts'
import { PAUSES, type PauseResult, pauseAt } from '../pause.ts'
import { startFaultWorld, type World } from '../world.ts'

let world: World
let results: Record<keyof typeof PAUSES, PauseResult>
beforeAll(async () => {
  world = untilEnd(await startFaultWorld())
  await world.start()
  const pause = (point: keyof typeof PAUSES) => pauseAt(world, PAUSES[point])
  const [before, between, after] = await Promise.all([pause('before'), pause('between'), pause('after')])
  results = { before, between, after }
})

test('a process paused past its lease before the marker sets no marker, sends no dot and responds with 500', () => {
  const { entry, triedMarkerLate } = results.before
  expect(triedMarkerLate).toBe(true)
  expect(entry).toMatchObject({ status: 500, body: { error: 'transient_failure' } })
  expect(world.logs.mail.dots.filter(({ request }) => request === entry.request)).toEqual([])
})

test.each([
  ['between marker and dot', 'between'],
  ['after the dot', 'after'],
] as const)(
  'a process paused past its lease %s responds with what the sweeper of another process stored: in doubt',
  (_, point) => {
    expect(results[point].entry).toMatchObject({ status: 200, body: { in_doubt: true } })
  },
)

test('a process paused past its lease sets no marker and sends no dot, even when no other process settles the message', async () => {
  const emptyWorld = untilEnd(await startFaultWorld())
  const { triedMarkerLate } = await pauseAt(emptyWorld, PAUSES.before, { alone: true })
  expect(triedMarkerLate).toBe(true)
  expect(emptyWorld.logs.mail.dots).toEqual([])
  expect(await emptyWorld.verdict()).toEqual([])
})

test('the logs of callers, mail servers, database and processes agree', async () => {
  expect(await world.verdict()).toEqual([])
})
