import { expect } from 'vitest'
import { letArrive, letRun, pauseFor } from '../harness/waits.ts'
import type { ClientEntry } from '../reliability/logs.ts'
import type { Letter } from './letters.ts'
import type { Node } from './node.ts'
import type { Dice } from './seed.ts'
import { startFaultWorld, type World } from './world.ts'

/** Sends a letter with a key until the response is 200. `nodeOf` chooses the process by the number of tries so far. */
export async function sendUntilOk(letter: Letter, nodeOf: (tries: number) => Node): Promise<ClientEntry> {
  for (let tries = 0; ; tries++) {
    const entry = await nodeOf(tries).client.send(letter)
    if (entry.status === 200) return entry
    if (entry.status !== undefined && entry.status !== 500) throw new Error(JSON.stringify(entry))
    await pauseFor(50)
  }
}

/** Sends the letter `count` times at once, to the processes in turn. */
export function sendDuplicates(nodes: Node[], letter: Letter, count: number): Promise<ClientEntry[]> {
  return Promise.all(Array.from({ length: count }, (_, i) => nodes[i % nodes.length]!.client.send(letter)))
}

/** The milliseconds from the first request to the last response. */
export function durationOf(entries: ClientEntry[]): number {
  return Math.max(...entries.map(({ endedAtMs }) => endedAtMs!)) - Math.min(...entries.map(({ sentAtMs }) => sentAtMs))
}

export const bodiesOf = (entries: ClientEntry[]) => [...new Set(entries.map(({ body }) => JSON.stringify(body)))]

export const WINNERS: Record<'before' | 'after', Letter> = {
  before: { request: 'won-before', to: ['ann.won@one.example'], text: 'All is well.', key: 'won-before' },
  after: { request: 'won-after', to: ['ann.won@two.example'], text: 'All is well.', key: 'won-after' },
}

/** Mail servers that never reply to their first client: one before the marker of its send, the other after it. */
const SILENT_ONCE = {
  'one.example': { data: (_: string, times: number) => (times === 0 ? ('stall' as const) : undefined) },
  'two.example': { dot: (_: string, times: number) => (times === 0 ? ('stall' as const) : undefined) },
}

export interface KillOutcome {
  world: World
  /** The final responses of all callers. Callers of the killed process repeat at the others. */
  responses: Record<'before' | 'after', ClientEntry[]>
  tookMs: number
}

/**
 * Starts three processes and, for each of two keys, a crowd of callers. The first process claims both sends. It is
 * killed when one of them is before its marker and the other after it.
 */
export async function killTheWinner(callers: number, endsLeases: boolean): Promise<KillOutcome> {
  const world = await startFaultWorld({ mail: SILENT_ONCE, env: { SEND_BUDGET_MS: '20000' } })
  const [winner, ...others] = (await Promise.all([world.start(), world.start(), world.start()])) as [Node, Node, Node]
  const startedAtMs = performance.now()
  const first = (letter: Letter) => sendUntilOk(letter, (tries) => (tries === 0 ? winner : others[0]!))
  const firstSends = { before: first(WINNERS.before), after: first(WINNERS.after) }
  const hasReceived = (domain: string, command: string) => () =>
    world.servers.get(domain)!.sessions.some(({ commands }) => commands.includes(command))
  await expect.poll(hasReceived('one.example', 'DATA')).toBe(true)
  await expect.poll(hasReceived('two.example', '.')).toBe(true)

  const nodes = [winner, ...others]
  const nodeOf = (i: number) => (tries: number) => (tries === 0 ? nodes[i % 3]! : others[i % 2]!)
  const crowd = (letter: Letter) => Array.from({ length: callers }, (_, i) => sendUntilOk(letter, nodeOf(i)))
  const crowds = { before: crowd(WINNERS.before), after: crowd(WINNERS.after) }
  await letArrive(500)
  winner.kill()
  await winner.cleanUp({ endsLeases })
  const responses = {
    before: await Promise.all([firstSends.before, ...crowds.before]),
    after: await Promise.all([firstSends.after, ...crowds.after]),
  }
  return { world, responses, tookMs: performance.now() - startedAtMs }
}

/**
 * Expects one mail, sent by another process, for the send killed before its marker, and in doubt without another mail
 * for the other.
 */
export async function expectOneMailOrInDoubt({ world, responses }: KillOutcome): Promise<void> {
  const [body, ...more] = bodiesOf(responses.before)
  const [inDoubtBody, ...others] = bodiesOf(responses.after)
  expect([more, others]).toEqual([[], []])
  expect(JSON.parse(body!)).toMatchObject({ status: 'delivered' })
  expect(JSON.parse(inDoubtBody!)).toMatchObject({ reason: 'connection_timeout', in_doubt: true })
  const sentRequests = world.logs.mail.dots.map(({ request }) => request).sort()
  expect(sentRequests).toEqual([WINNERS.after.request, WINNERS.before.request])
  expect(await world.verdict()).toEqual([])
}

/** Starts a process and kills the oldest one, `times` times at random intervals. */
export async function killTheOldest(world: World, times: number, dice: Dice): Promise<void> {
  for (let kills = 0; kills < times; kills++) {
    const [oldest] = world.nodes
    await Promise.all([world.start(), letRun(dice.between(0, 500))])
    oldest!.kill()
    await oldest!.cleanUp()
  }
}
