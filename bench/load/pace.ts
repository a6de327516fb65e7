import { setTimeout as sleep } from 'node:timers/promises'
import { machineMs } from './clock.ts'

/** Either `open` events at a time, or `perSecond` events a second, however long earlier ones take. */
export type Pace = { events: number } & ({ open: number } | { perSecond: number })

const POLL_INTERVAL_MS = 1

/** Starts each event's work. Returns when each was due, by the machine's clock: at a given rate it may start later. */
export async function keepPace(pace: Pace, start: (event: number) => Promise<void>): Promise<number[]> {
  return 'open' in pace ? inLanes(pace.events, pace.open, start) : byTheClock(pace.events, pace.perSecond, start)
}

async function inLanes(events: number, open: number, start: (event: number) => Promise<void>): Promise<number[]> {
  const due: number[] = []
  async function lane(): Promise<void> {
    while (due.length < events) await start(due.push(machineMs()) - 1)
  }
  await Promise.all(Array.from({ length: open }, lane))
  return due
}

async function byTheClock(events: number, rate: number, start: (event: number) => Promise<void>): Promise<number[]> {
  const startedMs = machineMs()
  const due = Array.from({ length: events }, (_, event) => startedMs + (event * 1_000) / rate)
  const running: Promise<void>[] = []
  while (running.length < events) {
    while (running.length < events && due[running.length]! <= machineMs()) running.push(start(running.length))
    await sleep(POLL_INTERVAL_MS)
  }
  await Promise.all(running)
  return due
}
