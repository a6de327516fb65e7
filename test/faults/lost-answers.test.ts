import { afterEach, expect, test } from 'vitest'
import { hopelessLetters, letters } from './letters.ts'
import { runLoad, tally } from './load.ts'
import { answered, asked, CLAIM, MARKER, RECORD, RELEASE, SETTLE } from './points.ts'
import { diceFor } from './seed.ts'
import { startWorld, type World } from './world.ts'

// A statement that was done and whose answer never came: nobody knows, and nothing may be said that is not so.

let world: World
afterEach(() => world.stop())

interface Step {
  name: string
  sql: string
  /** To nobody who has a mail server. */
  hopeless?: boolean
  /** Callers leave before the marker, which is what a release is for. */
  leaving?: boolean
}

const STEPS: Step[] = [
  { name: 'claim', sql: CLAIM },
  { name: 'marker', sql: MARKER },
  { name: 'record', sql: RECORD },
  { name: 'settle', sql: SETTLE, hopeless: true },
  { name: 'release', sql: RELEASE, leaving: true },
]

/** Letters of ten callers. */
async function load({ hopeless, leaving }: Step, purpose: string, count: number, env?: NodeJS.ProcessEnv) {
  const dice = diceFor(purpose)
  const slow = { mail: { after: 400, act: '250 2.1.0 ok' } }
  world = await startWorld(leaving ? { mail: { 'one.example': slow, 'two.example': slow } } : {})
  const node = await world.start(env)
  const post = hopeless ? hopelessLetters(purpose, count) : letters(purpose, count, dice)
  const leaveAfterMs = leaving ? () => dice.between(100, 380) : undefined
  return { node, dice, run: () => runLoad(10, post, () => node, leaveAfterMs).ended }
}

test.each(STEPS)('the answer to every third $name is lost: everything reconciles', async (step) => {
  const { node, dice, run } = await load(step, `lost-${step.name}`, 150)
  let losses = 0
  node.wire.onEvent = (event) => {
    if (!answered(step.sql)(event) || !dice.chance(1 / 3)) return undefined
    losses++
    return 'reset'
  }
  const entries = await run()
  node.wire.onEvent = () => undefined
  console.log(`lost-${step.name}`, losses, tally(entries))
  expect(losses).toBeGreaterThan(5)
  expect(await world.verdict()).toEqual([])
})

test.each(STEPS)('connections go silent at the $name: all are answered in time, and all recovers', async (step) => {
  const { node, dice, run } = await load(step, `silent-${step.name}`, 60, { SEND_BUDGET_MS: '20000' })
  let silences = 0
  node.wire.onEvent = (event) => {
    const isTime = dice.chance(0.5) ? asked(step.sql)(event) : answered(step.sql)(event)
    if (!isTime || silences === 5) return undefined
    silences++
    return 'hang'
  }
  const entries = await run()
  console.log(`silent-${step.name}`, silences, tally(entries))
  expect(silences).toBeGreaterThan(2)
  expect(Math.max(...entries.map((entry) => entry.endedAtMs! - entry.sentAtMs))).toBeLessThan(35_000)
  expect(await world.verdict()).toEqual([])
})
