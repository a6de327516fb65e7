import { once } from 'node:events'
import { STATUS_CODES } from 'node:http'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { machineMs } from './clock.ts'
import { startWorker, work } from './process.ts'

/** How an endpoint responds. Without any of these it responds 200. */
export interface Behaviour {
  status?: number
  /** The endpoint never responds. */
  hangs?: boolean
  /** Each n-th new event gets 503 at its first arrival. */
  failsEveryNth?: number
}

export interface Arrival {
  endpoint: string
  /** Both ids are those in the body. */
  eventId: string
  messageId: string
  /** When the request was complete, by the machine's clock. */
  atMs: number
  /** The status of the response, 0 for none. */
  status: number
}

export interface Receiver extends AsyncDisposable {
  /** The endpoint's URL. Every name is an endpoint. */
  url(endpoint: string): string
  setBehaviour(endpoint: string, behaviour: Behaviour): Promise<void>
  /** The number of arrivals that `take` has not returned yet. */
  count(): Promise<number>
  take(): Promise<Arrival[]>
}

type Question = { behave: Record<string, Behaviour> } | { take: boolean }

interface ReceiverState {
  port: number
  count: number
  arrivals: Arrival[]
}

/** Starts a webhook receiver in its own process, over plain HTTP. */
export async function startReceiver(): Promise<Receiver> {
  const worker = await startWorker<Question, ReceiverState>(import.meta.filename)
  const { port } = await worker.ask({ take: true })
  return {
    url: (endpoint) => `http://127.0.0.1:${port}/${endpoint}`,
    setBehaviour: async (endpoint, behaviour) => void (await worker.ask({ behave: { [endpoint]: behaviour } })),
    count: async () => (await worker.ask({ take: false })).count,
    take: async () => (await worker.ask({ take: true })).arrivals,
    [Symbol.asyncDispose]: () => worker[Symbol.asyncDispose](),
  }
}

type UnreadArrival = Omit<Arrival, 'eventId' | 'messageId'> & { body: string }

/** Some senders open a connection for every event. */
const BACKLOG = 4_096
const END_OF_HEAD = '\r\n\r\n'

function serve(): void {
  const behaviours = new Map<string, Behaviour>()
  const seen = new Map<string, Set<string>>()
  let arrivals: UnreadArrival[] = []

  function statusFor(endpoint: string, body: string): number {
    const { status = 200, hangs, failsEveryNth } = behaviours.get(endpoint) ?? {}
    if (hangs) return 0
    if (failsEveryNth === undefined) return status
    const { event_id: eventId } = JSON.parse(body)
    const events = seen.get(endpoint) ?? new Set()
    seen.set(endpoint, events)
    const isNew = !events.has(eventId)
    events.add(eventId)
    return isNew && events.size % failsEveryNth === 0 ? 503 : status
  }

  function respond(head: string, body: string): string {
    const atMs = machineMs()
    const endpoint = head.slice(head.indexOf('/') + 1, head.indexOf(' HTTP/1.1'))
    const status = statusFor(endpoint, body)
    arrivals.push({ endpoint, body, atMs, status })
    return status === 0 ? '' : `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nContent-Length: 2${END_OF_HEAD}ok`
  }

  /** Understands only the HTTP that is posted here, to leave the processors to both sides. */
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
      socket.write(respond(received, body))
      received = ''
    })
  }

  const server = createServer({ noDelay: true }, converse)
  server.listen({ port: 0, host: '127.0.0.1', backlog: BACKLOG })
  once(server, 'listening').then(() => {
    const { port } = server.address() as AddressInfo
    work<Question, ReceiverState>(async (question) => {
      if ('behave' in question) {
        for (const [endpoint, behaviour] of Object.entries(question.behave)) behaviours.set(endpoint, behaviour)
      }
      const state = { port, count: arrivals.length, arrivals: [] }
      if (!('take' in question) || !question.take) return state
      const taken = arrivals
      arrivals = []
      return { ...state, arrivals: taken.map(readBody) }
    })
  })
}

/** Bodies are parsed when they are taken: while they arrive, other processes need the processors. */
function readBody({ body, ...arrival }: UnreadArrival): Arrival {
  const { event_id: eventId, message_id: messageId } = JSON.parse(body)
  return { ...arrival, eventId, messageId }
}

if (import.meta.main) serve()
