import { machineMs } from './clock.ts'
import { type Exchange, openExchange } from './http.ts'
import { keepPace, type Pace } from './pace.ts'
import { startWorker, type Worker, work } from './process.ts'

export interface PostsRun {
  port: number
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
  status: number
  body: string
}

/** Starts a load tool in a process of its own: it POSTs at a pace, over as many kept connections as that takes. */
export function startPosts(): Promise<Worker<PostsRun, TimedResponse[]>> {
  return startWorker(import.meta.filename)
}

async function load({ port, path, key, bodies, pace }: PostsRun): Promise<TimedResponse[]> {
  const idle: Exchange[] = []
  const responses: Omit<TimedResponse, 'dueMs'>[] = []
  const head = [
    `POST ${path} HTTP/1.1`,
    'Host: 127.0.0.1',
    `Authorization: Bearer ${key}`,
    'Content-Type: application/json',
    'Content-Length: ',
  ].join('\r\n')

  async function post(number: number): Promise<void> {
    const exchange = idle.pop() ?? openExchange(port)
    const body = bodies[number % bodies.length]!
    const response = await exchange.ask([Buffer.from(`${head}${Buffer.byteLength(body)}\r\n\r\n${body}`)])
    responses[number] = { respondedMs: machineMs(), status: response.status, body: response.body }
    if (!response.closes) idle.push(exchange)
  }

  const due = await keepPace(pace, post)
  for (const exchange of idle) exchange.close()
  return due.map((dueMs, number) => ({ dueMs, ...responses[number]! }))
}

if (import.meta.main) work(load)
