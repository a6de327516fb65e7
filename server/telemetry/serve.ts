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

type Respond = (request: IncomingMessage, response: ServerResponse) => void

/**
 * Serves `GET /metrics` on its own port, so that the public port never shows it. Rejects when the port cannot be
 * opened. OpenTelemetry is loaded at the first scrape. While that fails, each scrape is answered with 500 and tries
 * again: a process without metrics still serves mail.
 */
export async function serveMetrics(
  metrics: Metrics,
  about: About,
  { host, port }: ServeOptions,
): Promise<MetricsServer> {
  let loading: Promise<Respond> | undefined
  const load = async () => {
    try {
      const { prometheus } = await import('./export-metrics.ts')
      return prometheus(metrics, about).respond
    } catch (error) {
      loading = undefined
      throw error
    }
  }
  const server = createServer((request, response) => {
    const path = request.url?.split('?')[0]
    if (path !== '/metrics') return response.writeHead(404).end('The metrics are at /metrics.\n')
    loading ??= load()
    loading.then(
      (respond) => respond(request, response),
      (error: Error) => response.writeHead(500).end(`The metrics cannot be read: ${error.message}. Try again.\n`),
    )
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
