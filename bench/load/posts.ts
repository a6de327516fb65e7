import { machineMs } from './clock.ts'
import { type Exchange, openExchange } from './http.ts'
import { keepPace, type Pace } from './pace.ts'
import { startWorker, type Worker, work } from './process.ts'

export interface PostsRun {
  port: number
  path: string
  /** Sent as `Authorization: Bearer`. */
  key: string
  /** JSON, in turn. */
  bodies: string[]
  pace: Pace
}

export interface Answered {
  /** Both by the machine's clock. */
  dueMs: number
  answeredMs: number
  status: number
  body: string
}

/** A load tool in a process of its own: POSTs over kept connections, as many as that takes, at a pace. */
export function startPosts(): Promise<Worker<PostsRun, Answered[]>> {
  return startWorker(import.meta.filename)
}

async function load({ port, path, key, bodies, pace }: PostsRun): Promise<Answered[]> {
  const idle: Exchange[] = []
  const answers: Omit<Answered, 'dueMs'>[] = []
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
    const answer = await exchange([Buffer.from(`${head}${Buffer.byteLength(body)}\r\n\r\n${body}`)])
    answers[number] = { answeredMs: machineMs(), status: answer.status, body: answer.body }
    if (!answer.closes) idle.push(exchange)
  }

  const due = await keepPace(pace, post)
  return due.map((dueMs, number) => ({ dueMs, ...answers[number]! }))
}

if (import.meta.main) work(load)
