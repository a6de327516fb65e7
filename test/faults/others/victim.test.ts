import { beforeAll, expect, test } from 'vitest'
import { letRun } from '../../harness/waits.ts'
import { harm, startVictimWorld, type VictimWorld } from './victim.ts'

let world: VictimWorld
beforeAll(async () => {
  world = await startVictimWorld()
})

test('an attacker that does nothing passes all bars', async () => {
  expect(harm(await world.compare(() => letRun(5_000)))).toEqual([])
})

test('a service that stops for 5 s fails the bar of health checks', async () => {
  const standstill = async () => {
    process.kill(world.api.pid, 'SIGSTOP')
    await letRun(5_000)
    process.kill(world.api.pid, 'SIGCONT')
  }
  const kinds = harm(await world.compare(standstill)).map((sentence) => sentence.split(':')[0])
  // On a busy machine a send may take seconds anyway. A health check does not.
  expect(kinds).toContain('healthz')
})
