import {
  context,
  propagation,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace as traceApi,
} from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { type ExportResult, ExportResultCode, W3CTraceContextPropagator } from '@opentelemetry/core'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources'
import { BatchSpanProcessor, type SpanExporter, TracerProvider } from '@opentelemetry/sdk-trace'
import type { Logger } from 'pino'
import { inTime } from '../async/timeout.ts'
import { SAMPLER_OF } from './samplers.ts'
import { spanIdsOf, traceparentOf } from './traceparent.ts'
import { type Beginning, passedOn, type Trace, type Tracing } from './tracing.ts'
import type { TracingParts } from './tracing-parts.ts'

// Only `import()` loads this file, where spans are exported.

/** How soon a span leaves this process; sooner when there are 512. 2,048 wait at most, and more are dropped. */
const EXPORT_EVERY_MS = 1_000
/** How long the end of a process waits for its last spans to be exported. */
const CLOSE_MS = 3_000

const KINDS = { server: SpanKind.SERVER, client: SpanKind.CLIENT, internal: SpanKind.INTERNAL }

/**
 * Records spans with OpenTelemetry and exports them by OTLP over HTTP. The exporter reads the OTEL_EXPORTER_OTLP_*
 * variables itself. Temporal's interceptors find the tracer, the propagator and the current span as globals.
 */
export function recordTraces({ config, service, version, log }: TracingParts): Tracing {
  const own = resourceFromAttributes({ 'service.name': service, 'service.version': version })
  const exporter = reporting(new OTLPTraceExporter(), log)
  const provider = new TracerProvider({
    resource: defaultResource()
      .merge(own)
      .merge(detectResources({ detectors: [envDetector] })),
    sampler: SAMPLER_OF[config.tracesSampler](config.tracesSamplerArg),
    // A longer attribute is cut: what a span says is short.
    spanLimits: { attributeValueLengthLimit: 256 },
    spanProcessors: [new BatchSpanProcessor({ exporter, scheduledDelayMillis: EXPORT_EVERY_MS })],
  })
  traceApi.setGlobalTracerProvider(provider)
  propagation.setGlobalPropagator(new W3CTraceContextPropagator())
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  const tracer = provider.getTracer('verdict', version)

  return {
    isOn: true,
    begin: (name, beginning) => begin(tracer, name, beginning),
    within: (traceparent, work) => (traceparent === undefined ? work() : context.with(contextOf(traceparent), work)),
    active() {
      const span = traceApi.getActiveSpan()?.spanContext()
      return span && traceparentOf(span)
    },
    close: () => inTime(provider.shutdown(), CLOSE_MS).catch(() => {}),
  }
}

function begin(tracer: Tracer, name: string, { kind, parent, link, startMs, attributes }: Beginning): Trace {
  const links = link === undefined ? [] : [{ context: spanIdsOf(link) }]
  const span = tracer.startSpan(
    name,
    { kind: KINDS[kind], startTime: startMs, links, attributes },
    parent === undefined ? ROOT_CONTEXT : contextOf(parent),
  )
  return traceOf(tracer, span)
}

const contextOf = (traceparent: string) =>
  traceApi.setSpanContext(ROOT_CONTEXT, { ...spanIdsOf(traceparent), isRemote: true })

function traceOf(tracer: Tracer, span: Span): Trace {
  const spanContext = span.spanContext()
  const traceparent = traceparentOf(spanContext)
  if (!span.isRecording()) return passedOn(traceparent)
  const child = traceApi.setSpan(ROOT_CONTEXT, span)

  function end(error?: string): void {
    if (error !== undefined) span.setAttribute('error.type', error).setStatus({ code: SpanStatusCode.ERROR })
    span.end()
  }

  return {
    traceparent,
    traceId: spanContext.traceId,
    isRecorded: true,
    async step(name, work) {
      const step = traceOf(tracer, tracer.startSpan(name, {}, child))
      try {
        const result = await work(step)
        step.end()
        return result
      } catch (error) {
        // The text of an error may quote what no span may hold.
        step.end((error as Error).name)
        throw error
      }
    },
    add: (name, fromMs, toMs, attributes) => tracer.startSpan(name, { startTime: fromMs, attributes }, child).end(toMs),
    set: (attributes) => void span.setAttributes(attributes),
    end,
  }
}

/** Says in the log when the export begins to fail and when it works again. Spans that are not exported are dropped. */
function reporting(exporter: SpanExporter, log: Logger): SpanExporter {
  let isFailing = false
  function report({ code, error }: ExportResult): void {
    const failed = code !== ExportResultCode.SUCCESS
    if (failed && !isFailing) log.warn({ err: error }, 'traces cannot be exported: nothing else is affected')
    if (!failed && isFailing) log.info('traces are exported again')
    isFailing = failed
  }
  return {
    export: (spans, done) =>
      exporter.export(spans, (result) => {
        report(result)
        done(result)
      }),
    forceFlush: () => exporter.forceFlush?.() ?? Promise.resolve(),
    shutdown: () => exporter.shutdown(),
  }
}
