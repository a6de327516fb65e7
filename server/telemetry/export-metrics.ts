import { ValueType } from '@opentelemetry/api'
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-proto'
import { PrometheusExporter } from '@opentelemetry/exporter-prometheus'
import { defaultResource, resourceFromAttributes } from '@opentelemetry/resources'
import {
  AggregationTemporality,
  DataPointType,
  MeterProvider,
  type MetricData,
  type MetricProducer,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import { inTime } from '../async/timeout.ts'
import type { Definition, Point } from './instruments.ts'
import { DEFINITIONS, type Metrics, type Snapshot } from './metrics.ts'

// Hands the values of a process to OpenTelemetry. Loading its packages takes over 100 ms of processor time, so only
// `import()` loads this file, once something wants the values.

/** How long the end of a process waits for its last values to be pushed. The exporter alone would retry for 10 s. */
const STOP_MS = 3_000

export interface About {
  version: string
  /** `verdict-api` or `verdict-worker`. */
  service: string
}

/** Shows the values in Prometheus' format. `respond` writes them to a response of Node's HTTP server. */
export function prometheus(metrics: Metrics, about: About) {
  const reader = new PrometheusExporter({
    preventServerStart: true,
    withoutScopeInfo: true,
    withoutTargetInfo: true,
    metricProducers: [producerOf(metrics)],
  })
  new MeterProvider({ resource: resourceOf(about), readers: [reader] })
  return { respond: reader.getMetricsRequestHandler.bind(reader) }
}

/** Pushes the values by OTLP over HTTP. OpenTelemetry's exporter reads its OTEL_EXPORTER_OTLP_* variables by itself. */
export function pushOtlp(metrics: Metrics, about: About, everyMs: number) {
  const reader = new PeriodicExportingMetricReader({
    exporter: new OTLPMetricExporter(),
    exportIntervalMillis: everyMs,
    metricProducers: [producerOf(metrics)],
  })
  const provider = new MeterProvider({ resource: resourceOf(about), readers: [reader] })
  return { stop: () => inTime(provider.shutdown(), STOP_MS) }
}

const resourceOf = ({ service, version }: About) =>
  defaultResource().merge(resourceFromAttributes({ 'service.name': service, 'service.version': version }))

function producerOf(metrics: Metrics): MetricProducer {
  const startedAtMs = Date.now()
  return {
    async collect() {
      const times: Times = { startTime: hrTime(startedAtMs), endTime: hrTime(Date.now()) }
      const data = metricDataOf(await metrics.snapshot(), times)
      const resource = resourceFromAttributes({})
      return {
        resourceMetrics: { resource, scopeMetrics: [{ scope: { name: 'verdict' }, metrics: data }] },
        errors: [],
      }
    },
  }
}

interface Times {
  startTime: [seconds: number, nanoseconds: number]
  endTime: [seconds: number, nanoseconds: number]
}

const hrTime = (ms: number): [number, number] => [Math.floor(ms / 1_000), (ms % 1_000) * 1e6]

function metricDataOf(snapshot: Snapshot, times: Times): MetricData[] {
  const entries = Object.entries(snapshot) as [keyof Snapshot, Point[]][]
  return entries.map(([key, points]) => metricOf(DEFINITIONS[key], points, times))
}

function metricOf(
  { name, help, kind, labels = {}, bounds = [] }: Definition,
  points: Point[],
  times: Times,
): MetricData {
  const names = Object.keys(labels)
  const common = {
    descriptor: { name, description: help, unit: '', valueType: ValueType.DOUBLE },
    aggregationTemporality: AggregationTemporality.CUMULATIVE,
  }
  const attributesOf = ({ labels }: Point) => Object.fromEntries(names.map((name, i) => [name, labels[i]]))
  const numbers = () => points.map((point) => ({ ...times, attributes: attributesOf(point), value: point.value }))
  if (kind === 'gauge') return { ...common, dataPointType: DataPointType.GAUGE, dataPoints: numbers() }
  if (kind === 'counter')
    return { ...common, dataPointType: DataPointType.SUM, isMonotonic: true, dataPoints: numbers() }
  const dataPoints = points.map((point) => {
    const { counts = [] } = point
    const count = counts.reduce((sum, one) => sum + one, 0)
    const value = { buckets: { boundaries: [...bounds], counts }, sum: point.value, count }
    return { ...times, attributes: attributesOf(point), value }
  })
  return { ...common, dataPointType: DataPointType.HISTOGRAM, dataPoints }
}
