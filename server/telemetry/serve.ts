import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { About } from './export-metrics.ts'
import type { Metrics } from './metrics.ts'

export interface MetricsServer {
  url: string
  close(): void
}

interface ServeOptions {
  host: string
  /** 0 takes a free port. */
  port: number
}

/**
 * Serves `GET /metrics` on a port of its own, so that the public port never shows it. Rejects when the port cannot be
 * opened. OpenTelemetry is loaded at the first scrape.
 */
export async function serveMetrics(
  metrics: Metrics,
  about: About,
  { host, port }: ServeOptions,
): Promise<MetricsServer> {
  let loading: Promise<(request: IncomingMessage, response: ServerResponse) => void> | undefined
  const server = createServer(async (request, response) => {
    const path = request.url?.split('?')[0]
    if (path !== '/metrics') return void response.writeHead(404).end('The metrics are at /metrics.\n')
    loading ??= import('./export-metrics.ts').then(({ prometheus }) => prometheus(metrics, about).respond)
    const respond = await loading
    respond(request, response)
  })
  server.listen(port, host).unref()
  await once(server, 'listening')
  const { port: openPort, family } = server.address() as AddressInfo
  return {
    url: `http://${family === 'IPv6' ? `[${host}]` : host}:${openPort}/metrics`,
    close: () => {
      server.close()
      server.closeAllConnections()
    },
  }
}
