import { expect, test } from 'vitest'
import { untilEnd } from '../../harness/until-end.ts'
import { PER_MINUTE, rateOf, TINY } from '../rates.ts'
import { startFaultWorld, type World } from '../world.ts'

let world: World

test('400 concurrent requests over two processes: the tier admits exactly its limit, each with another remaining count', async () => {
  world = untilEnd(await startFaultWorld({ limits: TINY }))
  await world.sql`update accounts set tier = 'tiny'`
  const nodes = await Promise.all([world.start(), world.start()])
  // No heavy call, of which an account may run only a few at a time.
  const rates = await Promise.all(
    Array.from({ length: 400 }, (_, i) => nodes[i % 2]!.client.get('/api/v1/webhooks').then(rateOf)),
  )
  const remainders = rates.filter(({ admitted }) => admitted).map(({ remaining }) => remaining)
  expect(remainders.sort((a, b) => b - a)).toEqual(Array.from({ length: PER_MINUTE }, (_, i) => PER_MINUTE - 1 - i))
  expect(new Set(rates.map(({ reset }) => reset)).size).toBe(1)
})
