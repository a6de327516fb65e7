import { beforeAll, expect, test } from 'vitest'
import { expectSwitchover, type Scenario, startScenario } from '../cluster/scenario.ts'
import { untilEnd } from '../harness/until-end.ts'

// The short part of `npm run cluster`: three machines with PostgreSQL under Patroni, behind HAProxy.

let scenario: Scenario
beforeAll(async () => {
  scenario = untilEnd(await startScenario())
})

test('a planned switchover fails no send', async () => {
  await expectSwitchover(scenario)
  expect(await scenario.world.verdict()).toEqual([])
})

test('after the leader’s machine is killed, sends are served within 5 s of the promotion, and nothing is lost or mailed twice', async () => {
  const { cluster, world, underLoad } = scenario
  const { promotedMs } = await underLoad(
    'leader killed',
    (leader) => leader.signal('SIGKILL'),
    (old) => cluster.promotedBeside(old),
  )
  expect(promotedMs).toBeDefined()
  expect(await world.verdict()).toEqual([])
})
