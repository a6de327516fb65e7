import type { Logger } from 'pino'
import type { Config } from '../config/config.ts'

export interface TracingParts {
  config: Pick<Config, 'tracesEndpoint' | 'tracesSampler' | 'tracesSamplerArg'>
  /** `verdict-api` or `verdict-worker`, unless OTEL_SERVICE_NAME says otherwise. */
  service: string
  version: string
  log: Logger
}
