import { beforeAll, expect, test } from 'vitest'
import { untilEnd } from '../harness/until-end.ts'
import { letRun } from '../harness/waits.ts'
import { ETCD_PORTS } from './cluster.ts'
import { expectSwitchover, type Scenario, startScenario } from './scenario.ts'

// Three machines with PostgreSQL under Patroni, and what can happen to them. Each test begins and ends with all three.

let scenario: Scenario
beforeAll(async () => {
  scenario = untilEnd(await startScenario())
})

const others = (name: string) => scenario.cluster.databases.filter((machine) => machine.name !== name)

/** Ends all cuts, and waits until the cluster is whole. */
async function heal(): Promise<void> {
  await scenario.cluster.network.heal()
  await scenario.cluster.whole()
}

/** Expects that the cluster is whole again and that nothing was lost or mailed twice. */
async function expectWhole(): Promise<void> {
  await scenario.cluster.whole()
  expect(await scenario.world.verdict()).toEqual([])
}

test('after the leader’s machine is killed, a standby is promoted, and the machine follows it when it is back', async () => {
  const { cluster, underLoad } = scenario
  const { promotedMs } = await underLoad(
    'leader killed',
    (leader) => leader.signal('SIGKILL'),
    async (old) => {
      await cluster.promotedBeside(old)
      await old.startAgain()
      await cluster.whole()
    },
  )
  expect(promotedMs).toBeDefined()
  await expectWhole()
})

test('after PostgreSQL of the leader is killed alone, a standby is promoted', async () => {
  await scenario.underLoad('PostgreSQL killed', (leader) => leader.killPostgres())
  await expectWhole()
})

test('after the leader’s machine is frozen for 40 s, a standby is promoted, and the old leader follows it', async () => {
  const { cluster, underLoad } = scenario
  const { promotedMs } = await underLoad(
    'leader frozen',
    (leader) => leader.signal('SIGSTOP'),
    async (old) => {
      await letRun(40_000)
      await old.signal('SIGCONT')
      await cluster.whole()
    },
  )
  expect(promotedMs).toBeDefined()
  await expectWhole()
})

test('while a standby’s machine is frozen, sends go on with the other one', async () => {
  const { cluster, underLoad } = scenario
  await underLoad(
    'standby frozen',
    async ({ name }) => {
      await others(name)[0]!.signal('SIGSTOP')
      await letRun(15_000)
    },
    async ({ name }) => {
      await others(name)[0]!.signal('SIGCONT')
      await cluster.whole()
    },
  )
  await expectWhole()
})

test('when the leader’s disk is full, sends are served by a standby or wait for room, and go on by themselves', async () => {
  const { cluster, underLoad } = scenario
  await underLoad(
    'disk full',
    async ({ disk }) => {
      await disk.fill()
      await letRun(30_000)
    },
    async ({ disk }) => {
      await disk.free()
      await cluster.whole()
    },
  )
  await expectWhole()
})

test('when the leader reaches no other member of etcd, sends go on', async () => {
  const { cluster, underLoad } = scenario
  await underLoad(
    'leader cut from etcd',
    async (leader) => {
      await cluster.network.cut(leader, others(leader.name), ETCD_PORTS)
      await letRun(30_000)
    },
    heal,
  )
  await expectWhole()
})

test('when the leader is cut from both other machines, a standby is promoted, and nothing is lost or mailed twice', async () => {
  const { cluster, underLoad } = scenario
  const { promotedMs } = await underLoad(
    'leader cut from the others',
    async (leader) => {
      await cluster.network.cut(leader, others(leader.name))
      await letRun(30_000)
    },
    heal,
  )
  expect(promotedMs).toBeDefined()
  await expectWhole()
})

test('while etcd has no quorum, the leader stays and sends go on', async () => {
  const { cluster, underLoad } = scenario
  const { promotedMs } = await underLoad(
    'etcd without quorum',
    async () => {
      const [first, second, third] = cluster.databases
      await cluster.network.cut(first!, [second!, third!], ETCD_PORTS)
      await cluster.network.cut(second!, [third!], ETCD_PORTS)
      await letRun(30_000)
    },
    heal,
  )
  expect(promotedMs).toBeUndefined()
  await expectWhole()
})

test('a planned switchover fails no send', async () => {
  await expectSwitchover(scenario)
  await expectWhole()
})

test('a machine that lost its disk copies the leader, and may then lead', async () => {
  const { cluster, underLoad } = scenario
  const leader = await cluster.leader()
  const [lost] = others(leader.name)
  await lost!.signal('SIGKILL')
  await lost!.loseData()
  await underLoad(
    'rejoined from a base back-up',
    () => lost!.startAgain(),
    async () => {
      await cluster.whole()
      await cluster.switchOver(leader, lost)
      await cluster.whole()
    },
  )
  expect((await cluster.leader()).name).toBe(lost!.name)
  await expectWhole()
})
