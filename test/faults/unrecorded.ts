import { expect } from 'vitest'
import { letArrive, letRun, quietFor } from '../harness/waits.ts'
import { letters } from './letters.ts'
import { runLoad, tally } from './load.ts'
import { diceFor } from './seed.ts'
import type { World } from './world.ts'

/** The server says 250 to every one of these. */
function* delivered(purpose: string) {
  for (const letter of letters(purpose, 20_000, diceFor(purpose)))
    yield { ...letter, to: letter.to.map((_, i) => `ann.${letter.request.replaceAll(' ', '.')}.${i}@one.example`) }
}

/** Holds a lock on a table until the result is called. */
export async function lockTable({ sql }: World, table: string): Promise<() => Promise<void>> {
  const held = await sql.reserve()
  await held`begin`
  await held.unsafe(`lock table ${table} in access exclusive mode`)
  return async () => {
    await held`rollback`
    held.release()
  }
}

interface Fault {
  /** Begins it, and returns what ends it. */
  begin(): Promise<() => Promise<unknown>>
  ms: number
  /** What readiness says during it. */
  checks: object
}

/**
 * Lets nothing be stored for a while, under sends to a server that accepts all mail. Expects that readiness names it,
 * that no dot is sent after the first seconds, that nothing is in doubt, and that all goes on by itself and reconciles.
 */
export async function keepUnrecorded(world: World, purpose: string, { begin, ms, checks }: Fault) {
  const node = await world.start({ SEND_BUDGET_MS: '20000' })
  const load = runLoad(20, delivered(purpose), () => node)
  await expect.poll(() => load.entries.length).toBeGreaterThan(40)
  const dots = () => world.logs.mail.dots.length
  const end = await begin()
  const beganMs = performance.now()
  // Callers that do not wait for each other.
  const more = delivered(`${purpose}-more`)
  const sends: Promise<unknown>[] = []
  const caller = setInterval(() => sends.push(node.client.send(more.next().value!)), 200)
  const readiness = () => node.client.get('/readyz')
  await expect.poll(readiness).toMatchObject({ status: 503, body: { checks } })
  console.log(`${purpose}: not ready after ${Math.round(performance.now() - beganMs)} ms`)
  // Three seconds of patience, and what was under way.
  await letArrive(Math.max(0, beganMs + 5_000 - performance.now()))
  const before = dots()
  await quietFor(3_000)
  expect(
    await node.client.send({ request: `${purpose} meanwhile`, to: ['ann@one.example'], text: 'Hi.' }),
  ).toMatchObject({
    status: 500,
    body: { error: 'transient_failure' },
  })
  await letRun(Math.max(0, beganMs + ms - performance.now()))
  expect(dots()).toBe(before)
  await end()
  clearInterval(caller)
  await expect.poll(readiness).toMatchObject({ status: 200 })
  const after = dots()
  await expect.poll(dots).toBeGreaterThan(after + 20)
  await Promise.all([load.stop(), ...sends])
  const entries = world.logs.requests
  console.log(`${purpose}:`, tally(entries))
  expect(Object.keys(tally(entries)).filter((outcome) => !['delivered', '500', 'lost'].includes(outcome))).toEqual([])
  expect(await world.verdict()).toEqual([])
  const stored = world.logs.database.at(-1)!.recipients
  expect(stored.filter(({ inDoubt, status }) => inDoubt || status !== 'delivered')).toEqual([])
  return { entries, node }
}
