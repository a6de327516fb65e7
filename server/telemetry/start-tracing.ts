import type { Logger } from 'pino'
import type { Config } from '../config/config.ts'
import { NO_TRACING, type Tracing } from './tracing.ts'

export interface TracingParts {
  config: Pick<Config, 'tracesEndpoint' | 'tracesSampler' | 'tracesSamplerArg'>
  /** `verdict-api` or `verdict-worker`, unless OTEL_SERVICE_NAME says otherwise. */
  service: string
  version: string
  log: Logger
}

/** Starts tracing if spans have somewhere to go. Loading OpenTelemetry takes a tenth of a second. */
export async function startTracing(parts: TracingParts): Promise<Tracing> {
  if (parts.config.tracesEndpoint === undefined) return NO_TRACING
  const { recordTraces } = await import('./recording.ts')
  return recordTraces(parts)
}
