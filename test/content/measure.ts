import { setImmediate as nextTurn } from 'node:timers/promises'
import { PLAIN } from './fillers.ts'
import { DOORS, type Door, type DoorOfContent, ROWS, type Row } from './readers.ts'

export interface Cost {
  /** CPU of all threads of the process. */
  cpuMs: number
  /** The longest turn of the event loop, in CPU of the main thread. */
  turnMs: number
}

const cpuMs = ({ user, system }: NodeJS.CpuUsage) => (user + system) / 1_000
// CPU and not time: other programs may take the processor at any moment.
const threadMs = () => cpuMs(process.threadCpuUsage())

/** What a piece of work costs; the least of `times`, because a collection of garbage belongs to no work. */
export async function costOf(work: () => unknown, times: number): Promise<Cost> {
  const least: Cost = { cpuMs: Number.POSITIVE_INFINITY, turnMs: Number.POSITIVE_INFINITY }
  for (let i = 0; i < times; i++) {
    await nextTurn()
    const before = process.cpuUsage()
    await work()
    least.cpuMs = Math.min(least.cpuMs, cpuMs(process.cpuUsage(before)))
    // No turn is longer than all of the work.
    const turnMs = least.cpuMs > TURN_MS ? await longestTurn(work) : least.cpuMs
    least.turnMs = Math.min(least.turnMs, turnMs)
  }
  return least
}

async function longestTurn(work: () => unknown): Promise<number> {
  let longest = 0
  let ended = false
  let before = threadMs()
  const turn = () => {
    const now = threadMs()
    longest = Math.max(longest, now - before)
    before = now
    if (!ended) setImmediate(turn)
  }
  setImmediate(turn)
  await nextTurn()
  await work()
  await nextTurn()
  ended = true
  await nextTurn()
  return longest
}

/** What an octet costs at any door beside its reader, whatever it is: the sockets on both sides, and copies. */
const DOOR_MS = 15e-6
const TIMES_PLAIN = 4
/** What compiling and garbage add to work of a few milliseconds. */
const NOISE_MS = 5
const TURN_MS = 50
const BASE_TIMES = 5
const TRIES = 5

/** The cost of plain text, by door and size. */
const plainCosts = new Map<string, Promise<Cost>>()

function plainCost(door: Door, bytes: number): Promise<Cost> {
  const key = `${door} ${bytes}`
  const cost = plainCosts.get(key) ?? plainNow(door, bytes)
  plainCosts.set(key, cost)
  return cost
}

function plainNow(door: Door, bytes: number): Promise<Cost> {
  const { plain, unit = PLAIN }: DoorOfContent = DOORS[door]
  return measured(ROWS[plain]!, unit, bytes, BASE_TIMES)
}

/** The fillers that cost a reader more than they may, each with its figures. */
export async function tooMuch(row: Row, bytes: number, fillers: Record<string, string>): Promise<string[]> {
  const size = Math.min(bytes, row.most ?? bytes)
  let base = await plainCost(row.door, size)
  const doorMs = size * DOOR_MS
  const { isAside } = DOORS[row.door]
  const isTooMuch = ({ cpuMs, turnMs }: Cost) =>
    cpuMs > TIMES_PLAIN * (base.cpuMs + doorMs) - doorMs + NOISE_MS || (!isAside && turnMs > TURN_MS)
  const found: string[] = []
  for (const [name, unit] of Object.entries(fillers)) {
    let cost = await measured(row, unit, size, 1)
    // A busy machine makes work dearer, never cheaper, and plain text alike.
    for (let tries = 0; isTooMuch(cost) && tries < TRIES; tries++) {
      base = await plainNow(row.door, size)
      cost = leastOf(cost, await measured(row, unit, size, 1))
    }
    if (isTooMuch(cost)) found.push(`${name}: ${shown(cost)} for ${size} bytes; plain text: ${shown(base)}`)
  }
  return found
}

async function measured(row: Row, unit: string, bytes: number, times: number): Promise<Cost> {
  const input = row.make(unit, bytes)
  return costOf(() => row.read(input), times)
}

const leastOf = (one: Cost, other: Cost): Cost => ({
  cpuMs: Math.min(one.cpuMs, other.cpuMs),
  turnMs: Math.min(one.turnMs, other.turnMs),
})

const shown = ({ cpuMs, turnMs }: Cost) => `${cpuMs.toFixed(1)} ms, ${turnMs.toFixed(1)} ms a turn`
