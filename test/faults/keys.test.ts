import { afterEach, expect, test } from 'vitest'
import type { ClientEntry } from '../reliability/logs.ts'
import {
  bodiesOf,
  durationOf,
  expectOneMailOrInDoubt,
  insist,
  killTheOldest,
  killTheWinner,
  sendDuplicates,
} from './duplicates.ts'
import { letters } from './letters.ts'
import { tally } from './load.ts'
import { diceFor } from './seed.ts'
import { startWorld, type World } from './world.ts'

let world: World
afterEach(() => world.stop())

test('1,000 concurrent requests with one key over two processes: one mail, equal bodies, in the time of one send', async () => {
  world = await startWorld({ mail: { 'one.example': { dot: { after: 2_000, act: '250 2.0.0 queued' } } } })
  const nodes = await Promise.all([world.start(), world.start()])
  const letter = { request: 'crowd', to: ['ann@one.example'], text: 'All is well.', key: 'crowd' }
  const entries = await sendDuplicates(nodes, letter, 1_000)
  console.log(`1,000 duplicates: ${Math.round(durationOf(entries))} ms for a send of 2,000 ms`)
  expect(entries.filter(({ status }) => status === 200)).toHaveLength(1_000)
  expect(bodiesOf(entries)).toHaveLength(1)
  expect(world.logs.mail.dots).toHaveLength(1)
  expect(durationOf(entries)).toBeLessThan(7_000)
  expect(await world.verdict()).toEqual([])
})

test('the winner of 1,000 duplicates is killed half-way, and nobody touches the lease: one mail, or in doubt', async () => {
  const survived = await killTheWinner(500, false)
  world = survived.world
  console.log(`answered after ${Math.round(survived.tookMs)} ms, the lease being 30,000 ms`)
  expect(survived.tookMs).toBeGreaterThan(29_000)
  expect(survived.tookMs).toBeLessThan(45_000)
  await expectOneMailOrInDoubt(survived)
})

test('a key at 23:59:59 of its life gives its answer on every process, at 24:00:01 one of 50 requests sends anew', async () => {
  world = await startWorld()
  const nodes = await Promise.all([world.start(), world.start()])
  const post = { request: 'old', to: ['ann@one.example'], text: 'All is well.', key: 'old' }
  const askBoth = async () => bodiesOf(await Promise.all(nodes.map(({ client }) => client.send(post))))
  const first = await askBoth()
  const age = (time: string) => world.sql`
    update idempotency_keys set expires_at = clock_timestamp() + interval '24 hours' - ${time}::interval where key = 'old'`
  await age('23:59:59')
  expect(await askBoth()).toEqual(first)
  expect(world.logs.mail.dots).toHaveLength(1)
  await age('24:00:01')
  const [anew, ...others] = bodiesOf(await sendDuplicates(nodes, post, 50))
  expect(others).toEqual([])
  expect(JSON.parse(anew!).status).toBe('delivered')
  expect(anew).not.toBe(first[0])
  expect(await askBoth()).toEqual([anew])
  expect(world.logs.mail.dots).toHaveLength(2)
})

test('killed at random 25 times under callers who repeat until they are answered: at most one acceptance for each key', async () => {
  const dice = diceFor('keyed kills')
  const patient = {
    data: () => ({ after: dice.between(0, 100), act: '354 go ahead' }),
    dot: () => ({ after: dice.between(0, 300), act: '250 2.0.0 queued' }),
  }
  world = await startWorld({ mail: { 'one.example': patient, 'two.example': patient } })
  await Promise.all([world.start(), world.start()])
  const post = letters('keyed', 20_000, dice)[Symbol.iterator]()
  const nodeOf = () => dice.pick([...world.nodes])
  const answers: ClientEntry[] = []
  let goesOn = true
  async function call(): Promise<void> {
    while (goesOn) {
      const { value } = post.next()
      const letter = { ...value!, key: `key ${value!.request}` }
      const tries = Array.from({ length: dice.between(1, 3) }, () => insist(letter, nodeOf))
      answers.push((await Promise.all(tries))[0]!)
    }
  }
  const load = Promise.all(Array.from({ length: 30 }, call))
  await killTheOldest(world, 25, dice)
  goesOn = false
  await load
  const counts = tally(answers)
  console.log(`${answers.length} keys, ${world.logs.requests.length} requests`, counts, tally(world.logs.requests))
  expect(counts.in_doubt).toBeGreaterThan(20)
  expect(tally(world.logs.requests).lost).toBeGreaterThan(100)
  expect(await world.verdict()).toEqual([])
})
