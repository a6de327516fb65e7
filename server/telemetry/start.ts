import type { Logger } from 'pino'
import type { About } from './export-metrics.ts'
import type { Metrics } from './metrics.ts'
import { watchEventLoop, watchProcess } from './process-state.ts'
import { serveMetrics } from './serve.ts'

export interface TelemetryParts {
  metrics: Metrics
  version: string
  log: Logger
  host: string
  port: number
  /** The variable that sets the port, for messages. */
  portVariable: string
  /** How often metrics are pushed by OTLP; undefined when they are not. */
  pushEveryMs: number | undefined
}

export interface Telemetry {
  /** The URL of the metrics; undefined while the port is taken. */
  url(): string | undefined
  stop(): Promise<void>
}

/** How soon a port is tried again that another process holds. */
const RETRY_MS = 10_000

/**
 * Serves the metrics of a process on their own port, and pushes them where that is configured. A port that is taken
 * stops no mail: the log says so, and the port is tried again until it is free.
 */
export async function startTelemetry(parts: TelemetryParts): Promise<Telemetry> {
  const { metrics, version, pushEveryMs } = parts
  const about: About = { version, service: `verdict-${metrics.process}` }
  watchProcess(metrics, version)
  watchEventLoop(metrics, 'main')
  const server = await keepServing(parts, about)
  const pushing = pushEveryMs && (await import('./export-metrics.ts')).pushOtlp(metrics, about, pushEveryMs)
  return {
    url: server.url,
    async stop() {
      server.close()
      if (pushing) await pushing.stop().catch(() => {})
    },
  }
}

async function keepServing({ metrics, log, host, port, portVariable }: TelemetryParts, about: About) {
  let server: Awaited<ReturnType<typeof serveMetrics>> | undefined
  let isReported = false
  let timer: NodeJS.Timeout | undefined

  async function open(): Promise<void> {
    try {
      server = await serveMetrics(metrics, about, { host, port })
      log.info({ url: server.url }, 'serving metrics')
    } catch (error) {
      if (!isReported) log.warn({ err: error }, cannotServe((error as Error).message))
      isReported = true
      timer = setTimeout(() => void open(), RETRY_MS).unref()
    }
  }
  const cannotServe = (why: string) =>
    `No metrics are served: ${why}. Set ${portVariable} to a port of its own for each process (0: any free port), and METRICS_HOST to an address of this machine. Trying again every ${RETRY_MS / 1_000} s.`

  await open()
  return {
    url: () => server?.url,
    close() {
      clearTimeout(timer)
      server?.close()
    },
  }
}
