/** A figure and the limit it must keep. */
export interface Bar {
  name: string
  value: number
  limit: number
  holds: boolean
}

/** The result of one run of a bench. */
export interface Report {
  figures: Record<string, number>
  bars: Bar[]
}

export interface RunOptions {
  /** Measure the peer in the same run, and judge the bars that compare with it. */
  peer: boolean
  /** How many rows to store, for the benches that fill tables. */
  size?: number
  /** A folder that keeps the filled database for the next run. */
  keep?: string
  /** The folder of another checkout, to compare with. */
  against?: string
  /** How long to run, for the benches whose duration is a choice. */
  minutes?: number
}

export function atLeast(name: string, value: number, limit: number): Bar {
  return { name: `${name}, at least`, value, limit, holds: value >= limit }
}

export function atMost(name: string, value: number, limit: number): Bar {
  return { name: `${name}, at most`, value, limit, holds: value <= limit }
}

/** The value that `share` of the values do not exceed. NaN when there are no values. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}

export function median(values: readonly number[]): number {
  return percentile(values, 0.5)
}
