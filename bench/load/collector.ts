import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { startWorker, work } from './process.ts'

export interface Collector extends AsyncDisposable {
  url: string
  /** The octets of all exports so far. */
  octets(): Promise<number>
}

interface CollectorState {
  port: number
  octets: number
}

/** Starts a collector of OpenTelemetry in its own process, which accepts every export and keeps nothing. */
export async function startCollector(): Promise<Collector> {
  const worker = await startWorker<object, CollectorState>(import.meta.filename, [])
  return {
    url: `http://127.0.0.1:${(await worker.ask({})).port}`,
    octets: async () => (await worker.ask({})).octets,
    [Symbol.asyncDispose]: () => worker[Symbol.asyncDispose](),
  }
}

async function serve(): Promise<void> {
  const state: CollectorState = { port: 0, octets: 0 }
  const server = createServer(async (request, response) => {
    for await (const chunk of request) state.octets += chunk.length
    response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  state.port = (server.address() as AddressInfo).port
  work<object, CollectorState>(async () => ({ ...state }))
}

if (import.meta.main) await serve()
