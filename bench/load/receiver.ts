import { once } from 'node:events'
import { STATUS_CODES } from 'node:http'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { machineMs } from './clock.ts'
import { startWorker, work } from './process.ts'

/** What an endpoint does with what is posted to it. Without any of these it answers 200. */
export interface Behaviour {
  status?: number
  /** It never answers. */
  hangs?: boolean
  /** Each so many-th event is answered 503 when it comes for the first time. */
  failsFirst?: number
}

export interface Arrival {
  endpoint: string
  /** Both as the body names them. */
  eventId: string
  messageId: string
  /** When the request was whole, by the machine's clock. */
  atMs: number
  /** What was answered; 0 when nothing was. */
  status: number
}

export interface Receiver extends AsyncDisposable {
  /** Of an endpoint, which is there as soon as somebody names it. */
  url(endpoint: string): string
  behave(endpoint: string, behaviour: Behaviour): Promise<void>
  /** Arrivals that nobody has taken yet. */
  count(): Promise<number>
  take(): Promise<Arrival[]>
}

type Question = { behave: Record<string, Behaviour> } | { take: boolean }

interface Told {
  port: number
  count: number
  arrivals: Arrival[]
}

/** A webhook receiver in a process of its own, over plain HTTP. */
export async function startReceiver(): Promise<Receiver> {
  const worker = await startWorker<Question, Told>(import.meta.filename)
  const { port } = await worker.ask({ take: true })
  return {
    url: (endpoint) => `http://127.0.0.1:${port}/${endpoint}`,
    behave: async (endpoint, behaviour) => void (await worker.ask({ behave: { [endpoint]: behaviour } })),
    count: async () => (await worker.ask({ take: false })).count,
    take: async () => (await worker.ask({ take: true })).arrivals,
    [Symbol.asyncDispose]: () => worker[Symbol.asyncDispose](),
  }
}

type Arrived = Omit<Arrival, 'eventId' | 'messageId'> & { body: string }

/** Some of those who post open a connection for every event. */
const BACKLOG = 4_096
const END_OF_HEAD = '\r\n\r\n'

function serve(): void {
  const behaviours = new Map<string, Behaviour>()
  const seen = new Map<string, Set<string>>()
  let arrivals: Arrived[] = []

  function statusFor(endpoint: string, body: string): number {
    const { status = 200, hangs, failsFirst } = behaviours.get(endpoint) ?? {}
    if (hangs) return 0
    if (failsFirst === undefined) return status
    const { event_id: eventId } = JSON.parse(body)
    const events = seen.get(endpoint) ?? new Set()
    seen.set(endpoint, events)
    const isNew = !events.has(eventId)
    events.add(eventId)
    return isNew && events.size % failsFirst === 0 ? 503 : status
  }

  function answer(head: string, body: string): string {
    const atMs = machineMs()
    const endpoint = head.slice(head.indexOf('/') + 1, head.indexOf(' HTTP/1.1'))
    const status = statusFor(endpoint, body)
    arrivals.push({ endpoint, body, atMs, status })
    return status === 0 ? '' : `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nContent-Length: 2${END_OF_HEAD}ok`
  }

  /** No more of HTTP than is posted here: it is to take little of the processors that both sides need. */
  function converse(socket: Socket): void {
    let received = ''
    socket.setEncoding('latin1')
    socket.on('error', () => {})
    socket.on('data', (chunk: string) => {
      received += chunk
      const end = received.indexOf(END_OF_HEAD)
      if (end < 0) return
      const length = /\r\ncontent-length: *(\d+)/i.exec(received)?.[1]
      if (length === undefined) throw new Error(`a request without Content-Length:\n${received}`)
      const body = received.slice(end + END_OF_HEAD.length)
      if (body.length < Number(length)) return
      socket.write(answer(received, body))
      received = ''
    })
  }

  const server = createServer({ noDelay: true }, converse)
  server.listen({ port: 0, host: '127.0.0.1', backlog: BACKLOG })
  once(server, 'listening').then(() => {
    const { port } = server.address() as AddressInfo
    work<Question, Told>(async (question) => {
      if ('behave' in question) {
        for (const [endpoint, behaviour] of Object.entries(question.behave)) behaviours.set(endpoint, behaviour)
      }
      const told = { port, count: arrivals.length, arrivals: [] }
      if (!('take' in question) || !question.take) return told
      const taken = arrivals
      arrivals = []
      return { ...told, arrivals: taken.map(readBody) }
    })
  })
}

/** Bodies are read when somebody asks: while they arrive, others need the processors. */
function readBody({ body, ...arrived }: Arrived): Arrival {
  const { event_id: eventId, message_id: messageId } = JSON.parse(body)
  return { ...arrived, eventId, messageId }
}

if (import.meta.main) serve()
