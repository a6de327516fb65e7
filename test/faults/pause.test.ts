import { beforeAll, expect, test } from 'vitest'
import { untilEnd } from '../harness/until-end.ts'
import { PAUSES, type PauseResult, pauseAt } from './pause.ts'
import { startFaultWorld, type World } from './world.ts'

// The same as the quick test, but the leases expire by themselves, which takes half a minute.

let world: World
let results: Record<keyof typeof PAUSES, PauseResult>
beforeAll(async () => {
  world = untilEnd(await startFaultWorld())
  await world.start()
  const pause = (point: keyof typeof PAUSES) => pauseAt(world, PAUSES[point], { waits: true })
  const [before, between, after] = await Promise.all([pause('before'), pause('between'), pause('after')])
  results = { before, between, after }
})

test('a process paused before the marker until its lease expires sends no dot, and its 500 says that nothing was sent', () => {
  const { entry } = results.before
  expect(entry).toMatchObject({ status: 500, body: { error: 'transient_failure' } })
  expect(world.logs.mail.dots.filter(({ request }) => request === entry.request)).toEqual([])
})

test.each([
  ['between marker and dot', 'between'],
  ['after the dot', 'after'],
] as const)('a process paused %s until its lease expires responds in doubt', (_, point) => {
  expect(results[point].entry).toMatchObject({ status: 200, body: { in_doubt: true } })
})

test('the logs of callers, mail servers, database and processes agree', async () => {
  expect(await world.verdict()).toEqual([])
})
