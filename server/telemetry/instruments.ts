// What the code counts while it works: plain numbers, which cost a look-up in a map. What exports them reads them at a
// scrape. See metrics.ts for the table of all metrics.

/** A label's values: a fixed list, or any values up to a number of them. Every other value becomes `other`. */
export type LabelValues = readonly string[] | number

export interface Definition {
  kind: 'counter' | 'gauge' | 'histogram'
  /** As Prometheus names it, with its unit. */
  name: string
  /** One sentence, for /metrics and docs/metrics.md. */
  help: string
  labels?: Readonly<Record<string, LabelValues>>
  /** Upper bounds of a histogram's buckets, in ascending order. One more bucket counts everything above. */
  bounds?: readonly number[]
  /** The process that has the metric; both by default. */
  process?: ProcessName
  /** Its value is that of the whole installation, read from the database: take the largest, not the sum. */
  isOfInstallation?: true
}

export type ProcessName = 'api' | 'worker'

export type LabelsOf<D extends Definition> = { [Label in keyof D['labels']]: string }

/** The values of one series: its labels, in the order of the definition, and its number or its distribution. */
export interface Point {
  labels: string[]
  /** The value; of a histogram the sum. */
  value: number
  /** Only a histogram has it: how many values are in each bucket. */
  counts?: number[]
}

export type LabelledValue<Labels> = [labels: Labels, value: number]

interface Readable<Labels> {
  /** Adds a source of values, which is read at each scrape. Values of the same labels add up. */
  read(source: () => LabelledValue<Labels>[]): void
  points(): Point[]
}

export interface Counter<Labels> extends Readable<Labels> {
  /** Adds to the series with these labels, 1 by default. Takes well under a microsecond. */
  add(labels: Labels, amount?: number): void
}

export interface Histogram<Labels> {
  /** Adds a value to the series with these labels. */
  observe(labels: Labels, value: number): void
  points(): Point[]
}

export type Gauge<Labels> = Readable<Labels>

export type Instrument<D extends Definition> = D['kind'] extends 'counter'
  ? Counter<LabelsOf<D>>
  : D['kind'] extends 'histogram'
    ? Histogram<LabelsOf<D>>
    : Gauge<LabelsOf<D>>

export const OTHER = 'other'
const SEPARATOR = '\0'
/**
 * A metric with at most this number of series shows all from the start, with zeros, so a rate sees the first increase.
 */
const MAX_ZEROS = 100

type Labels = Record<string, string>

export function createInstrument(definition: Definition): Instrument<Definition> {
  const { kind, bounds = [] } = definition
  const series = createSeries(definition)
  const sources: (() => LabelledValue<Labels>[])[] = []
  return {
    read: (source: () => LabelledValue<Labels>[]) => void sources.push(source),
    points: () => (sources.length === 0 ? (kind === 'gauge' ? [] : series.points()) : readPoints(definition, sources)),
    add(labels: Labels, amount = 1) {
      series.of(labels).value += amount
    },
    observe(labels: Labels, value: number) {
      const point = series.of(labels)
      point.value += value
      let bucket = 0
      while (value > (bounds[bucket] ?? Infinity)) bucket++
      point.counts![bucket]!++
    },
  } as Instrument<Definition>
}

function readPoints(definition: Definition, sources: (() => LabelledValue<Labels>[])[]): Point[] {
  const series = createSeries(definition)
  for (const source of sources) for (const [labels, value] of source()) series.of(labels).value += value
  return series.points()
}

/** The series of one metric. Their number is bounded, whatever labels come. */
function createSeries({ kind, labels: allowed = {}, bounds = [] }: Definition) {
  const names = Object.keys(allowed)
  const limits = Object.entries(allowed).map(([name, values]) => ({ name, limit: bounded(values) }))
  const points = new Map<string, Point>()
  if (kind !== 'gauge') for (const values of zeros(Object.values(allowed))) add(values)

  function of(labels: Labels): Point {
    return points.get(keyOf(names, labels)) ?? find(limits.map(({ name, limit }) => limit(labels[name] ?? OTHER)))
  }

  function find(labels: string[]): Point {
    return points.get(labels.join(SEPARATOR)) ?? add(labels)
  }

  function add(labels: string[]): Point {
    const counts = kind === 'histogram' ? Array.from({ length: bounds.length + 1 }, () => 0) : undefined
    const point: Point = { labels, value: 0, counts }
    points.set(labels.join(SEPARATOR), point)
    return point
  }

  return { of, points: () => [...points.values()] }
}

function keyOf(names: string[], labels: Labels): string {
  let key: string | undefined
  for (const name of names) key = key === undefined ? labels[name] : key + SEPARATOR + labels[name]
  return key ?? ''
}

function bounded(values: LabelValues): (value: string) => string {
  const known = new Set(typeof values === 'number' ? [] : values)
  const free = () => typeof values === 'number' && known.size < values
  return (value) => {
    if (free()) known.add(value)
    return known.has(value) ? value : OTHER
  }
}

/** All combinations of the labels' values; none when a label's values are not known or there are too many. */
function zeros(values: LabelValues[]): string[][] {
  const lists = values.map((list) => (typeof list === 'number' ? [] : list))
  const all = lists.reduce((product, list) => product * list.length, 1)
  if (all > MAX_ZEROS) return []
  return lists.reduce<string[][]>((rows, list) => rows.flatMap((row) => list.map((value) => [...row, value])), [[]])
}
