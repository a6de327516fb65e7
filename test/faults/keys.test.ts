import { expect, test } from 'vitest'
import { untilEnd } from '../harness/until-end.ts'
import { pauseFor } from '../harness/waits.ts'
import type { ClientEntry } from '../reliability/logs.ts'
import {
  bodiesOf,
  durationOf,
  expectOneMailOrInDoubt,
  killTheOldest,
  killTheWinner,
  sendDuplicates,
  sendUntilOk,
  WINNERS,
} from './duplicates.ts'
import { letters } from './letters.ts'
import { tally } from './load.ts'
import { diceFor } from './seed.ts'
import { startFaultWorld, type World } from './world.ts'

let world: World

test('1,000 concurrent requests with one key over two processes send one mail and get equal bodies, in the time of one send', async () => {
  world = untilEnd(
    await startFaultWorld({ mail: { 'one.example': { dot: { after: 2_000, act: '250 2.0.0 queued' } } } }),
  )
  const nodes = await Promise.all([world.start(), world.start()])
  const letter = { request: 'crowd', to: ['ann@one.example'], text: 'All is well.', key: 'crowd' }
  const entries = await sendDuplicates(nodes, letter, 1_000)
  console.log(`1,000 duplicates: ${Math.round(durationOf(entries))} ms for a send of 2,000 ms`)
  expect(entries.filter(({ status }) => status === 200)).toHaveLength(1_000)
  expect(bodiesOf(entries)).toHaveLength(1)
  // A machine too busy for this bar needs as long for repeats that only read the stored response.
  const repeats = await sendDuplicates(nodes, letter, 1_000)
  expect(bodiesOf([...entries, ...repeats])).toHaveLength(1)
  expect(world.logs.mail.dots).toHaveLength(1)
  // The send itself takes 2 s. A busy machine needs as long for repeats as for duplicates.
  expect(durationOf(entries)).toBeLessThan(Math.max(7_000, 2_000 + 3 * durationOf(repeats)))
  expect(await world.verdict()).toEqual([])
})

test('when the process that sends is killed under 1,000 duplicates, all get one result after its lease: one mail, or in doubt', async () => {
  const outcome = await killTheWinner(500, false)
  world = outcome.world
  const repeats = await sendDuplicates([...world.nodes], WINNERS.before, 1_000)
  console.log(`responses after ${Math.round(outcome.tookMs)} ms, the lease is 30,000 ms; repeats`, durationOf(repeats))
  expect(outcome.tookMs).toBeGreaterThan(29_000)
  // The lease is 30 s. A busy machine needs longer to answer all duplicates.
  expect(outcome.tookMs).toBeLessThan(Math.max(45_000, 35_000 + 5 * durationOf(repeats)))
  await expectOneMailOrInDoubt(outcome)
})

test('a key returns its stored response on every process for 23:59:55, and at 24:00:01 one of 50 requests sends again', async () => {
  world = untilEnd(await startFaultWorld())
  const nodes = await Promise.all([world.start(), world.start()])
  const letter = { request: 'old', to: ['ann@one.example'], text: 'All is well.', key: 'old' }
  const sendToBoth = async () => bodiesOf(await Promise.all(nodes.map(({ client }) => client.send(letter))))
  const first = await sendToBoth()
  const setAge = (time: string) => world.sql`
    update idempotency_keys set expires_at = clock_timestamp() + interval '24 hours' - ${time}::interval where key = 'old'`
  await setAge('23:59:55')
  expect(await sendToBoth()).toEqual(first)
  expect(world.logs.mail.dots).toHaveLength(1)
  await setAge('24:00:01')
  const [newBody, ...others] = bodiesOf(await sendDuplicates(nodes, letter, 50))
  expect(others).toEqual([])
  expect(JSON.parse(newBody!).status).toBe('delivered')
  expect(newBody).not.toBe(first[0])
  expect(await sendToBoth()).toEqual([newBody])
  expect(world.logs.mail.dots).toHaveLength(2)
})

test('each key is accepted at most once, after 25 random kills under callers who repeat until they get a response', async () => {
  const dice = diceFor('keyed kills')
  const slow = {
    data: () => ({ after: dice.between(0, 100), act: '354 go ahead' }),
    dot: () => ({ after: dice.between(0, 300), act: '250 2.0.0 queued' }),
  }
  world = untilEnd(await startFaultWorld({ mail: { 'one.example': slow, 'two.example': slow } }))
  await Promise.all([world.start(), world.start()])
  const remaining = letters('keyed', 20_000, dice)[Symbol.iterator]()
  const nodeOf = () => dice.pick([...world.nodes])
  const responses: ClientEntry[] = []
  let isRunning = true
  async function call(): Promise<void> {
    while (isRunning) {
      const { value } = remaining.next()
      const letter = { ...value!, key: `key ${value!.request}` }
      const tries = Array.from({ length: dice.between(1, 3) }, () => sendUntilOk(letter, nodeOf))
      responses.push((await Promise.all(tries))[0]!)
      // Callers without a pause would leave no processor to the processes that start.
      await pauseFor(dice.between(0, 400))
    }
  }
  const load = Promise.all(Array.from({ length: 30 }, call))
  await killTheOldest(world, 25, dice)
  isRunning = false
  await load
  const counts = tally(responses)
  console.log(`${responses.length} keys, ${world.logs.requests.length} requests`, counts, tally(world.logs.requests))
  expect(counts.in_doubt).toBeGreaterThan(20)
  expect(tally(world.logs.requests).lost).toBeGreaterThan(100)
  expect(await world.verdict()).toEqual([])
})
