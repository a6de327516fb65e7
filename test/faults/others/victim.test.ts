import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, expect, test } from 'vitest'
import { harm, startVictimWorld, type VictimWorld } from './victim.ts'

let world: VictimWorld
afterEach(() => world.stop())

test('the bars: an attacker who does nothing does no harm', async () => {
  world = await startVictimWorld()
  expect(harm(await world.compare(() => sleep(5_000)))).toEqual([])
})

test('the bars: a service that stands still for 5 s harms health checks', async () => {
  world = await startVictimWorld()
  const standstill = async () => {
    process.kill(world.api.pid, 'SIGSTOP')
    await sleep(5_000)
    process.kill(world.api.pid, 'SIGCONT')
  }
  const harmed = harm(await world.compare(standstill)).map((sentence) => sentence.split(':')[0])
  // On a full machine a send may take seconds without it; a health check does not.
  expect(harmed).toContain('healthz')
})
