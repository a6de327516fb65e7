import { test } from 'vitest'
import { letters, unreachableLetters } from './letters.ts'
import { runLoad, tally } from './load.ts'
import { CLAIM, endOf, MARKER, RECORD, RELEASE, SETTLE, startOf } from './points.ts'
import { diceFor } from './seed.ts'
import { startFaultWorld } from './world.ts'

// The database performs a statement, and its response never arrives. The process does not know, and must not claim what
// is not true.

interface Step {
  name: string
  sql: string
  /** All recipients are unreachable. */
  unreachable?: boolean
  /** Callers leave before the marker: that is when a send is released. */
  leaving?: boolean
}

const STEPS: Step[] = [
  { name: 'claim', sql: CLAIM },
  { name: 'marker', sql: MARKER },
  { name: 'record', sql: RECORD },
  { name: 'settle', sql: SETTLE, unreachable: true },
  { name: 'release', sql: RELEASE, leaving: true },
]

/** Prepares the letters of ten callers and a process that has sent one, in a separate world. */
async function setUp({ unreachable, leaving }: Step, purpose: string, count: number, env?: NodeJS.ProcessEnv) {
  const dice = diceFor(purpose)
  // Long enough that most sends have their claim when their callers leave, even on a busy machine.
  const slow = { mail: { after: 3_000, act: '250 2.1.0 ok' } }
  const world = await startFaultWorld(leaving ? { mail: { 'one.example': slow, 'two.example': slow } } : {})
  const node = await world.start(env)
  // A process that has just started loads modules and opens connections first.
  for (const letter of letters(`first-${purpose}`, 1, dice)) await node.client.send(letter)
  const allLetters = unreachable ? unreachableLetters(purpose, count) : letters(purpose, count, dice)
  const leaveAfterMs = leaving ? () => dice.between(100, 2_800) : undefined
  return { world, node, dice, run: () => runLoad(10, allLetters, () => node, leaveAfterMs).ended }
}

test.concurrent.for(STEPS)(
  'everything reconciles when the database response to one $name in three is lost',
  async (step, { expect, onTestFinished }) => {
    const { world, node, dice, run } = await setUp(step, `lost-${step.name}`, 300)
    onTestFinished(world.stop)
    let losses = 0
    node.wire.onEvent = (event) => {
      if (!endOf(step.sql)(event) || !dice.chance(1 / 3)) return undefined
      losses++
      return 'reset'
    }
    const entries = await run()
    node.wire.onEvent = () => undefined
    console.log(`lost-${step.name}`, losses, tally(entries))
    expect(losses).toBeGreaterThan(5)
    expect(await world.verdict()).toEqual([])
  },
)

test.concurrent.for(STEPS)(
  'every request ends in time and everything reconciles when database connections go silent at the $name',
  async (step, { expect, onTestFinished }) => {
    const { world, node, dice, run } = await setUp(step, `silent-${step.name}`, 60, { SEND_BUDGET_MS: '20000' })
    onTestFinished(world.stop)
    let silences = 0
    node.wire.onEvent = (event) => {
      const isTime = dice.chance(0.5) ? startOf(step.sql)(event) : endOf(step.sql)(event)
      if (!isTime || silences === 5) return undefined
      silences++
      return 'hang'
    }
    const entries = await run()
    console.log(`silent-${step.name}`, silences, tally(entries))
    expect(silences).toBeGreaterThan(2)
    // The budget of 20 s, and the time of the statements that go silent.
    expect(Math.max(...entries.map((entry) => entry.endedAtMs! - entry.sentAtMs))).toBeLessThan(35_000)
    expect(await world.verdict()).toEqual([])
  },
)
