import { createInstrument, type Definition, type Instrument, type Point, type ProcessName } from './instruments.ts'
import { BACKGROUND } from './metrics/background.ts'
import { CALLS } from './metrics/calls.ts'
import { DATABASE, INSTALLATION } from './metrics/database.ts'
import { NETWORK } from './metrics/network.ts'
import { PROCESS } from './metrics/process.ts'
import { SENDS } from './metrics/sends.ts'
import { WEBHOOKS } from './metrics/webhooks.ts'

/** Every metric. docs/metrics.md is generated from these tables. */
export const METRIC_GROUPS: { title: string; definitions: Record<string, Definition> }[] = [
  { title: 'Sends', definitions: SENDS },
  { title: 'Webhooks', definitions: WEBHOOKS },
  { title: 'Calls', definitions: CALLS },
  { title: 'The way to recipients', definitions: NETWORK },
  { title: 'The installation', definitions: INSTALLATION },
  { title: 'Background work and protections', definitions: BACKGROUND },
  { title: 'Database', definitions: DATABASE },
  { title: 'Process', definitions: PROCESS },
]

export const DEFINITIONS = {
  ...SENDS,
  ...WEBHOOKS,
  ...CALLS,
  ...NETWORK,
  ...INSTALLATION,
  ...BACKGROUND,
  ...DATABASE,
  ...PROCESS,
}

export type Instruments = { [Key in keyof typeof DEFINITIONS]: Instrument<(typeof DEFINITIONS)[Key]> }

/** The values of all metrics, by key of the table. It can be posted between threads. */
export type Snapshot = Partial<Record<keyof Instruments, Point[]>>

export interface Metrics extends Instruments {
  process: ProcessName
  /** Adds a reading that takes time, such as one from the database: it runs before each scrape. */
  refresh(work: () => Promise<unknown>): void
  /** Adds another thread's values. They add up with those of this one. */
  include(source: () => Promise<Snapshot>): void
  /** Reads all values. */
  snapshot(): Promise<Snapshot>
}

/** The metrics of a process, or of a thread of it. Its parts get them as arguments. */
export function createMetrics(process: ProcessName): Metrics {
  const keys = Object.keys(DEFINITIONS) as (keyof Instruments)[]
  const instruments = Object.fromEntries(
    keys.map((key) => [key, createInstrument(DEFINITIONS[key])]),
  ) as unknown as Instruments
  const own = keys.filter((key) => isOf(DEFINITIONS[key], process))
  const refreshes: (() => Promise<unknown>)[] = []
  const others: (() => Promise<Snapshot>)[] = []

  return {
    ...instruments,
    process,
    refresh: (work) => void refreshes.push(work),
    include: (source) => void others.push(source),
    async snapshot() {
      const [snapshots] = await Promise.all([
        Promise.all(others.map((other) => other())),
        Promise.all(refreshes.map((work) => work())),
      ])
      const values: Snapshot = {}
      for (const key of own) {
        values[key] = sum([instruments[key].points(), ...snapshots.map((snapshot) => snapshot[key] ?? [])])
      }
      return values
    },
  }
}

export const isOf = (definition: Definition, process: ProcessName) => (definition.process ?? process) === process

/** Adds up the series with equal labels. */
function sum([first = [], ...others]: Point[][]): Point[] {
  if (others.every((points) => points.length === 0)) return first
  const total = new Map(first.map((point) => [point.labels.join('\0'), { ...point }]))
  for (const point of others.flat()) {
    const same = total.get(point.labels.join('\0'))
    if (!same) total.set(point.labels.join('\0'), point)
    else {
      same.value += point.value
      same.counts = same.counts?.map((count, bucket) => count + (point.counts?.[bucket] ?? 0))
    }
  }
  return [...total.values()]
}
