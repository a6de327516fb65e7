import { setTimeout as sleep } from 'node:timers/promises'
import { machineMs } from './clock.ts'

/** So many at a time, or so many a second, whatever becomes of those before. */
export type Pace = { events: number } & ({ open: number } | { perSecond: number })

const LOOKS_EVERY_MS = 1

/** Does the work of each event. Gives when each was due, by the machine's clock: at a given rate that is not when it began. */
export async function keepPace(pace: Pace, begin: (event: number) => Promise<void>): Promise<number[]> {
  return 'open' in pace ? inLanes(pace.events, pace.open, begin) : byTheClock(pace.events, pace.perSecond, begin)
}

async function inLanes(events: number, open: number, begin: (event: number) => Promise<void>): Promise<number[]> {
  const due: number[] = []
  async function lane(): Promise<void> {
    while (due.length < events) await begin(due.push(machineMs()) - 1)
  }
  await Promise.all(Array.from({ length: open }, lane))
  return due
}

async function byTheClock(events: number, rate: number, begin: (event: number) => Promise<void>): Promise<number[]> {
  const beganMs = machineMs()
  const due = Array.from({ length: events }, (_, event) => beganMs + (event * 1_000) / rate)
  const under: Promise<void>[] = []
  while (under.length < events) {
    while (under.length < events && due[under.length]! <= machineMs()) under.push(begin(under.length))
    await sleep(LOOKS_EVERY_MS)
  }
  await Promise.all(under)
  return due
}
