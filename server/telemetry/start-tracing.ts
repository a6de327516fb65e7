import { NO_TRACING, type Tracing } from './tracing.ts'
import type { TracingParts } from './tracing-parts.ts'

/** Starts tracing if spans have somewhere to go. Loading OpenTelemetry takes a tenth of a second. */
export async function startTracing(parts: TracingParts): Promise<Tracing> {
  if (parts.config.tracesEndpoint === undefined) return NO_TRACING
  const { recordTraces } = await import('./recording.ts')
  return recordTraces(parts)
}
