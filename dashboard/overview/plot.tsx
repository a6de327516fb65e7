import { useComputedColorScheme } from '@mantine/core'
import { useElementSize, useMergedRef } from '@mantine/hooks'
import { useEffect, useRef } from 'react'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import styles from './overview.module.css'
import type { ChartColumns } from './series.ts'

export interface ChartLine {
  label: string
  /** Name of a variable of look.css: `--delivered`. */
  color: string
  /** Bars are stacked: the list holds sums, and the largest is drawn first. */
  bars?: boolean
  hatched?: boolean
  /** Lengths of the strokes and gaps of a line. */
  dash?: number[]
}

/** A value that is drawn as a line across the chart. */
export interface ChartMark {
  value: number
  color: string
  /** Shown above the line. */
  word?: string
}

interface PlotProps {
  columns: ChartColumns
  lines: ChartLine[]
  stepMs: number
  /** A value at the axis. */
  word(value: number): string
  marks?: ChartMark[]
  /** The top of the axis, at least. A mark above the axis is not drawn. */
  leastTop?: number
  /** Called with the index of the period under the pointer; undefined when the pointer leaves. */
  onPoint(index: number | undefined): void
  /** Called with the index of a period that was clicked. */
  onOpen?(index: number): void
}

/** A chart over time. Its cursor moves with those of the other charts on the page. */
export default function Plot(props: PlotProps) {
  // The style sheet sets the height.
  const { ref, width, height } = useElementSize()
  const host = useRef<HTMLDivElement>(null)
  const hostRef = useMergedRef(ref, host)
  const scheme = useComputedColorScheme()
  const latest = useRef(props)
  latest.current = props
  const plot = useRef<uPlot>(undefined)
  const shape = props.lines.map(({ label }) => label).join()

  // biome-ignore lint/correctness/useExhaustiveDependencies: the colours of the canvas change with the scheme
  useEffect(() => {
    if (!host.current || width === 0) return
    const created = new uPlot(
      optionsOf(latest, { width, height }),
      latest.current.columns as uPlot.AlignedData,
      host.current,
    )
    plot.current = created
    return () => created.destroy()
  }, [scheme, shape, width === 0, props.stepMs])

  useEffect(() => plot.current?.setData(props.columns as uPlot.AlignedData), [props.columns])
  useEffect(() => {
    if (width > 0) plot.current?.setSize({ width, height })
  }, [width, height])

  return (
    <div
      ref={hostRef}
      className={styles.plot}
      aria-hidden
      onClick={() => {
        const at = plot.current?.cursor.idx
        if (at !== undefined && at !== null) latest.current.onOpen?.(at)
      }}
    />
  )
}

function colorOf(name: string): string {
  // `light-dark()` is resolved for an element, not for a variable.
  const probe = document.createElement('span')
  probe.style.color = `var(${name})`
  document.body.append(probe)
  const { color } = getComputedStyle(probe)
  probe.remove()
  return color
}

function optionsOf(latest: { current: PlotProps }, size: { width: number; height: number }): uPlot.Options {
  const { lines, stepMs, word, marks = [], leastTop = 4 } = latest.current
  const [ink, grid] = [colorOf('--ink-faint'), colorOf('--line')]
  const axis = { stroke: ink, grid: { stroke: grid, width: 1 }, ticks: { show: false }, font: '12px system-ui' }
  // A bar begins at its period's start, which is where the axis has its time.
  const bars = uPlot.paths.bars!({ size: [0.76, 40], align: 1 })
  return {
    ...size,
    legend: { show: false },
    padding: [8, 24, 0, 0],
    cursor: {
      y: false,
      dataIdx: periodAt,
      points: { size: 6 },
      sync: { key: 'overview' },
      drag: { x: false, y: false },
    },
    scales: {
      // Each period has the same place in every chart, and the pointer anywhere above it finds it.
      x: { range: (_, from, to) => [from, to + stepMs / 1_000] },
      y: { range: (_, __, max) => [0, Math.max(max ?? 0, leastTop) * 1.1] },
    },
    axes: [
      { ...axis, size: 28, values: (_, seconds) => seconds.map(timeWord) },
      // A value shorter than a unit would repeat the words of the unit below it.
      { ...axis, size: 52, gap: 8, incrs: STEPS, values: (_, values) => values.map(word) },
    ],
    series: [
      {},
      ...lines.map((line): uPlot.Series => {
        const color = colorOf(line.color)
        if (line.bars)
          return { label: line.label, fill: line.hatched ? hatch(color) : color, paths: bars, points: { show: false } }
        return {
          label: line.label,
          stroke: color,
          width: 1.5,
          dash: line.dash,
          points: { size: 4, show: true, filter: aloneIn },
        }
      }),
    ],
    hooks: {
      setCursor: [({ cursor }) => latest.current.onPoint(cursor.idx ?? undefined)],
      draw: [(plot) => drawMarks(plot, marks)],
    },
  }
}

/** The period that a time is in: uPlot takes the one whose start is nearest. */
function periodAt({ data }: uPlot, _: number, __: number, seconds: number): number {
  return Math.max(
    0,
    data[0].findLastIndex((start) => start <= seconds),
  )
}

/** The values without a neighbour: a line would not show them. */
function aloneIn({ data }: uPlot, line: number): number[] {
  const values = data[line] ?? []
  const has = (at: number) => values[at] !== null && values[at] !== undefined
  return [...values.keys()].filter((at) => has(at) && !has(at - 1) && !has(at + 1))
}

/** Steps between the values at the axis: whole numbers. */
const STEPS = Array.from({ length: 10 }, (_, power) => [1, 2, 5].map((step) => step * 10 ** power)).flat()

const HOUR_FORM = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' })
const DAY_FORM = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' })

/** A time at the axis in the reader's zone: the day at its beginning, otherwise the hour. */
function timeWord(seconds: number): string {
  const time = new Date(seconds * 1_000)
  return time.getHours() + time.getMinutes() === 0 ? DAY_FORM.format(time) : HOUR_FORM.format(time)
}

function drawMarks(plot: uPlot, marks: ChartMark[]): void {
  const { ctx, bbox } = plot
  for (const { value, color, word = '' } of marks) {
    if (value > (plot.scales.y?.max ?? 0)) continue
    const y = Math.round(plot.valToPos(value, 'y', true))
    ctx.save()
    ctx.strokeStyle = colorOf(color)
    ctx.setLineDash([6, 4])
    ctx.lineWidth = devicePixelRatio
    ctx.beginPath()
    ctx.moveTo(bbox.left, y)
    ctx.lineTo(bbox.left + bbox.width, y)
    ctx.stroke()
    ctx.font = `${11 * devicePixelRatio}px system-ui`
    ctx.textAlign = 'right'
    ctx.textBaseline = 'bottom'
    ctx.fillStyle = colorOf('--ink-faint')
    ctx.fillText(word, bbox.left + bbox.width, y - 2 * devicePixelRatio)
    ctx.restore()
  }
}

/** Diagonal lines: what is in doubt is neither one nor the other. */
function hatch(color: string): () => CanvasPattern {
  return () => {
    const tile = document.createElement('canvas')
    tile.width = tile.height = 6
    const context = tile.getContext('2d')!
    context.strokeStyle = color
    context.lineWidth = 2
    for (const shift of [-6, 0, 6]) {
      context.moveTo(shift, 6)
      context.lineTo(shift + 6, 0)
    }
    context.stroke()
    return context.createPattern(tile, 'repeat')!
  }
}
