import { beforeEach, expect, test } from 'vitest'
import { words } from '../harness/text.ts'
import { untilEnd } from '../harness/until-end.ts'
import { killAt, leastOpen } from './kill.ts'
import { letters } from './letters.ts'
import type { Node } from './node.ts'
import { POINTS } from './points.ts'
import { diceFor } from './seed.ts'
import { startFaultWorld, type World } from './world.ts'

let world: World
beforeEach(async () => {
  world = untilEnd(await startFaultWorld())
})

/** Kills one process after the other while `goesOn`. The next one starts while the last one is killed. */
async function withNodes(
  goesOn: (kills: number) => boolean,
  kill: (node: Node, i: number) => Promise<unknown>,
): Promise<void> {
  let next = world.start()
  for (let i = 0; goesOn(i); i++) {
    const node = await next
    next = world.start()
    await kill(node, i)
  }
  await next
}

/** Expects more than this many open messages of each kind, and that all of them were settled as they must be. */
async function expectSettled(atLeast: number): Promise<void> {
  expect(leastOpen(world.logs)).toBeGreaterThan(atLeast)
  expect(await world.verdict()).toEqual([])
}

const TO = words(`
  ann@one.example bob@one.example ann@also.one.example ann@two.example nobody@two.example eve@printer.local
`)

test('everything reconciles after a kill at the n-th message on the wire of a send, for every n', async () => {
  const letter = (n: number) => ({
    request: `nth-${n}`,
    to: TO.map((address) => address.replace('@', `.nth-${n}@`)),
    text: 'All is well.\n'.repeat(15_000),
  })
  // Not every send takes the same number of messages: the large text arrives in more or fewer.
  let longest = 0
  let endedBefore = 0
  await withNodes(
    () => endedBefore < 8,
    async (node, i) => {
      const last = node.wire.total + i + 1
      const isAtPoint = await killAt(node, [letter(i + 1)], { is: ({ total }) => total >= last })
      if (isAtPoint) longest = i + 1
      endedBefore = isAtPoint ? 0 : endedBefore + 1
    },
  )
  console.log(`the longest send took ${longest} messages`)
  expect(longest).toBeGreaterThan(20)
  await expectSettled(5)
})

test('everything reconciles after a kill at each point of a send under 20 others', async () => {
  const dice = diceFor('points')
  // How many sends are open at a kill depends on the machine.
  for (let round = 1; round <= 4 && leastOpen(world.logs) <= 20; round++) {
    await withNodes(
      (kills) => kills < POINTS.length,
      async (node, i) => {
        // Not always the first send that reaches the point. Sends share their statements, so few reach it.
        let passes = dice.between(0, 2)
        const { is, act } = POINTS[i]!
        const crowd = letters(`crowd-${round}-${i + 1}`, 20, dice)
        await killAt(node, crowd, { is: (event) => is(event) && passes-- === 0, act })
      },
    )
  }
  await expectSettled(20)
})

test('everything reconciles after 50 random kills, each under 50 concurrent sends', async () => {
  const dice = diceFor('random kills')
  await withNodes(
    (kills) => kills < 50,
    async (node, i) => {
      const last = node.wire.total + dice.between(1, 700)
      await killAt(node, letters(`random-${i + 1}`, 50, dice), { is: ({ total }) => total >= last })
    },
  )
  await expectSettled(100)
})
