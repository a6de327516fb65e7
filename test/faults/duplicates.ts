import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import type { ClientEntry } from '../reliability/logs.ts'
import type { Letter } from './letters.ts'
import type { Node } from './node.ts'
import type { Dice } from './seed.ts'
import { startWorld, type World } from './world.ts'

/** Sends a letter that has a key until there is an answer. `nodeOf` says whom to ask after so many tries. */
export async function insist(letter: Letter, nodeOf: (tries: number) => Node): Promise<ClientEntry> {
  for (let tries = 0; ; tries++) {
    const entry = await nodeOf(tries).client.send(letter)
    if (entry.status === 200) return entry
    if (entry.status !== undefined && entry.status !== 500) throw new Error(JSON.stringify(entry))
    await sleep(50)
  }
}

/** The letter so many times at once, to one process after the other. */
export function sendDuplicates(nodes: Node[], letter: Letter, count: number): Promise<ClientEntry[]> {
  return Promise.all(Array.from({ length: count }, (_, i) => nodes[i % nodes.length]!.client.send(letter)))
}

/** From the first request to the last answer. */
export function durationOf(entries: ClientEntry[]): number {
  return Math.max(...entries.map(({ endedAtMs }) => endedAtMs!)) - Math.min(...entries.map(({ sentAtMs }) => sentAtMs))
}

export const bodiesOf = (entries: ClientEntry[]) => [...new Set(entries.map(({ body }) => JSON.stringify(body)))]

export const WINNERS: Record<'before' | 'after', Letter> = {
  before: { request: 'won-before', to: ['ann.won@one.example'], text: 'All is well.', key: 'won-before' },
  after: { request: 'won-after', to: ['ann.won@two.example'], text: 'All is well.', key: 'won-after' },
}

/** Mail servers that leave the first client without a word: one before the marker of its send, the other after it. */
const SILENT_ONCE = {
  'one.example': { data: (_: string, times: number) => (times === 0 ? ('stall' as const) : undefined) },
  'two.example': { dot: (_: string, times: number) => (times === 0 ? ('stall' as const) : undefined) },
}

export interface Survived {
  world: World
  /** Of all callers, those of the killed process included, who asked the others. */
  answers: Record<'before' | 'after', ClientEntry[]>
  tookMs: number
}

/**
 * Three processes and, for each of two keys, a crowd of callers: the first process has both sends, and is killed when one of them is
 * before its marker and the other after it.
 */
export async function killTheWinner(callers: number, endsLeases: boolean): Promise<Survived> {
  const world = await startWorld({ mail: SILENT_ONCE, env: { SEND_BUDGET_MS: '20000' } })
  const [winner, ...others] = (await Promise.all([world.start(), world.start(), world.start()])) as [Node, Node, Node]
  const startedAtMs = performance.now()
  const first = (letter: Letter) => insist(letter, (tries) => (tries === 0 ? winner : others[0]!))
  const won = { before: first(WINNERS.before), after: first(WINNERS.after) }
  const isHeard = (domain: string, word: string) => () =>
    world.servers.get(domain)!.sessions.some(({ commands }) => commands.includes(word))
  await expect.poll(isHeard('one.example', 'DATA')).toBe(true)
  await expect.poll(isHeard('two.example', '.')).toBe(true)

  const everybody = [winner, ...others]
  const nodeOf = (i: number) => (tries: number) => (tries === 0 ? everybody[i % 3]! : others[i % 2]!)
  const crowd = (letter: Letter) => Array.from({ length: callers }, (_, i) => insist(letter, nodeOf(i)))
  const waiting = { before: crowd(WINNERS.before), after: crowd(WINNERS.after) }
  await sleep(500)
  winner.kill()
  await winner.bury({ endsLeases })
  const answers = {
    before: await Promise.all([won.before, ...waiting.before]),
    after: await Promise.all([won.after, ...waiting.after]),
  }
  return { world, answers, tookMs: performance.now() - startedAtMs }
}

/** Before the marker somebody else has sent it, once; after it everybody is told that nobody knows, and nothing is sent again. */
export async function expectOneMailOrInDoubt({ world, answers }: Survived): Promise<void> {
  const [sent, ...more] = bodiesOf(answers.before)
  const [inDoubt, ...others] = bodiesOf(answers.after)
  expect([more, others]).toEqual([[], []])
  expect(JSON.parse(sent!)).toMatchObject({ status: 'delivered' })
  expect(JSON.parse(inDoubt!)).toMatchObject({ reason: 'connection_timeout', in_doubt: true })
  const mailed = world.logs.mail.dots.map(({ request }) => request).sort()
  expect(mailed).toEqual([WINNERS.after.request, WINNERS.before.request])
  expect(await world.verdict()).toEqual([])
}

/** So many times, some moments apart: a new process is there, and the oldest is killed. */
export async function killTheOldest(world: World, times: number, dice: Dice): Promise<void> {
  for (let kills = 0; kills < times; kills++) {
    const [oldest] = world.nodes
    await Promise.all([world.start(), sleep(dice.between(0, 500))])
    oldest!.kill()
    await oldest!.bury()
  }
}
