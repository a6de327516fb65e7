import type { Filter } from '../lists/filter.ts'

const HOUR = 60 * 60_000
const DAY = 24 * HOUR

/** The ranges to choose from, which end now: name in the address, label, and length in milliseconds. */
export const PRESETS = [
  ['1h', '1 hour', HOUR],
  ['24h', '24 hours', DAY],
  ['7d', '7 days', 7 * DAY],
  ['30d', '30 days', 30 * DAY],
] as const

/** The parameters of a page's address: a preset, or times in UTC. */
export interface RangeSearch {
  range?: string
  from?: string
  to?: string
}

/** The parameters of an address that name a range. */
export const RANGE_PARAMETERS: Filter[] = [
  { name: 'range', label: 'Range', choices: PRESETS.map(([name, label]) => [name, label]) },
  { name: 'from', label: 'From', kind: 'time' },
  { name: 'to', label: 'To', kind: 'time' },
]

/** The length of the preset that the address names; undefined without one. */
export const presetLength = (name: string | undefined): number | undefined =>
  PRESETS.find(([preset]) => preset === name)?.[2]

/** The search with the start of its preset as a time. A preset has no end: later emails belong to it, too. */
export function withTimes<Search extends RangeSearch>({ range, ...search }: Search, nowMs: number) {
  const lengthMs = presetLength(range)
  return lengthMs === undefined ? search : { ...search, from: new Date(nowMs - lengthMs).toISOString(), to: undefined }
}
