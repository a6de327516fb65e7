import { machineMs } from './clock.ts'
import { type Exchange, openExchange } from './http.ts'
import { keepPace, type Pace } from './pace.ts'
import { startWorker, type Worker, work } from './process.ts'

export interface PostsRun {
  /** The requests take the ports of a list in turn. */
  port: number | readonly number[]
  path: string
  /** Sent as `Authorization: Bearer`. */
  key: string
  /** JSON. The requests take them in turn. */
  bodies: string[]
  pace: Pace
}

export interface TimedResponse {
  /** Both times are by the machine's clock. */
  dueMs: number
  respondedMs: number
  port: number
  /** 0 when the connection ended without a response. */
  status: number
  body: string
}

const CUT = { status: 0, body: '', closes: true }

/** Starts a load tool in its own process: it POSTs at a pace, over as many kept connections as that takes. */
export function startPosts(): Promise<Worker<PostsRun, TimedResponse[]>> {
  return startWorker(import.meta.filename)
}

async function load({ port, path, key, bodies, pace }: PostsRun): Promise<TimedResponse[]> {
  const ports = [port].flat()
  const idle = new Map(ports.map((port) => [port, [] as Exchange[]]))
  const responses: Omit<TimedResponse, 'dueMs'>[] = []
  const head = [
    `POST ${path} HTTP/1.1`,
    'Host: 127.0.0.1',
    `Authorization: Bearer ${key}`,
    'Content-Type: application/json',
    'Content-Length: ',
  ].join('\r\n')

  async function post(number: number): Promise<void> {
    const port = ports[number % ports.length]!
    const exchange = idle.get(port)!.pop() ?? openExchange(port)
    const body = bodies[number % bodies.length]!
    const request = [Buffer.from(`${head}${Buffer.byteLength(body)}\r\n\r\n${body}`)]
    const response = await exchange.ask(request).catch(() => CUT)
    responses[number] = { respondedMs: machineMs(), port, status: response.status, body: response.body }
    if (!response.closes) idle.get(port)!.push(exchange)
  }

  const due = await keepPace(pace, post)
  for (const exchange of [...idle.values()].flat()) exchange.close()
  return due.map((dueMs, number) => ({ dueMs, ...responses[number]! }))
}

if (import.meta.main) work(load)
