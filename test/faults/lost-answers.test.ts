import { test } from 'vitest'
import { hopelessLetters, letters } from './letters.ts'
import { runLoad, tally } from './load.ts'
import { CLAIM, endOf, MARKER, RECORD, RELEASE, SETTLE, startOf } from './points.ts'
import { diceFor } from './seed.ts'
import { startWorld } from './world.ts'

// A statement that was done and whose answer never came: nobody knows, and nothing may be said that is not so.

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

/** Letters of ten callers, to a process of its own world. */
async function setUp({ hopeless, leaving }: Step, purpose: string, count: number, env?: NodeJS.ProcessEnv) {
  const dice = diceFor(purpose)
  // Long enough that a busy machine, too, has made the claim of most sends when their callers leave.
  const slow = { mail: { after: 3_000, act: '250 2.1.0 ok' } }
  const world = await startWorld(leaving ? { mail: { 'one.example': slow, 'two.example': slow } } : {})
  const node = await world.start(env)
  const post = hopeless ? hopelessLetters(purpose, count) : letters(purpose, count, dice)
  const leaveAfterMs = leaving ? () => dice.between(100, 2_800) : undefined
  return { world, node, dice, run: () => runLoad(10, post, () => node, leaveAfterMs).ended }
}

test.concurrent.for(STEPS)(
  'the answer to every third $name is lost: everything reconciles',
  async (step, { expect, onTestFinished }) => {
    const { world, node, dice, run } = await setUp(step, `lost-${step.name}`, 150)
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
  'connections go silent at the $name: all are answered in time, and all recovers',
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
    expect(Math.max(...entries.map((entry) => entry.endedAtMs! - entry.sentAtMs))).toBeLessThan(35_000)
    expect(await world.verdict()).toEqual([])
  },
)
