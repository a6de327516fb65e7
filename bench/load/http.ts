import { connect, type Socket } from 'node:net'
import { startWorker, type Worker, work } from './process.ts'

export interface HttpRun {
  port: number
  path: string
  /** Sent as `Authorization: Bearer`. */
  key?: string
  /** JSON. */
  body: string
  /** So many characters `A` take the place of the `*` in `body`: one buffer for all requests, however many and large they are. */
  fill?: number
  /** Requests carry an Idempotency-Key: so many different ones in turn, each with this prefix. */
  keys?: { prefix: string; distinct: number }
  connections: number
  requests: number
  /**
   * The load tool never sleeps. To wake a sleeping process costs the one that writes to it as much as a small request itself, so a
   * server that is slower than its load would pay for that, and one that is faster would not.
   */
  awake?: boolean
}

export interface HttpAnswers {
  seconds: number
  /** In the order of their ends, from the first byte written to the last byte read. */
  latenciesMs: number[]
  /** How often, by HTTP status and the `status` or `error` of the JSON: `200 delivered`. */
  counts: Record<string, number>
  /** How many different bodies came back. */
  bodies: number
}

/** A load tool in a process of its own: POSTs over kept connections, each of which sends its next request after an answer. */
export function startHttpLoad(): Promise<Worker<HttpRun, HttpAnswers>> {
  return startWorker(import.meta.filename)
}

async function load(run: HttpRun): Promise<HttpAnswers> {
  const [first, ...rest] = piecesOf(run)
  const answers: HttpAnswers = { seconds: 0, latenciesMs: [], counts: {}, bodies: 0 }
  const bodies = new Set<string>()
  let begun = 0
  const lane = async () => {
    let exchange: Exchange | undefined
    while (begun < run.requests) {
      const request = [requestLine(run), keyLine(run, begun++), first!, ...rest]
      exchange ??= openExchange(run.port)
      const startedAt = performance.now()
      const answer = await exchange(request).catch((error: Error) => `no answer: ${error.message}`)
      const isAnswer = typeof answer === 'object'
      if (!isAnswer || answer.closes) exchange = undefined
      const word = isAnswer ? `${answer.status} ${wordOf(answer.body)}` : answer
      if (isAnswer) bodies.add(answer.body)
      answers.counts[word] = (answers.counts[word] ?? 0) + 1
      answers.latenciesMs.push(performance.now() - startedAt)
    }
  }
  const startedAt = performance.now()
  let running = true
  const stayAwake = () => void (running && setImmediate(stayAwake))
  if (run.awake) stayAwake()
  await Promise.all(Array.from({ length: run.connections }, lane))
  running = false
  answers.bodies = bodies.size
  answers.seconds = (performance.now() - startedAt) / 1000
  return answers
}

const requestLine = ({ path }: HttpRun) => Buffer.from(`POST ${path} HTTP/1.1\r\n`)

const keyLine = ({ keys }: HttpRun, i: number) =>
  Buffer.from(keys ? `Idempotency-Key: ${keys.prefix}${i % keys.distinct}\r\n` : '')

function piecesOf({ key, body, fill }: HttpRun): Buffer[] {
  const pieces = fill === undefined ? [body] : body.split('*', 2)
  const length = Buffer.byteLength(pieces.join('')) + (fill ?? 0)
  const head = [
    'Host: 127.0.0.1',
    ...(key === undefined ? [] : [`Authorization: Bearer ${key}`]),
    'Content-Type: application/json',
    `Content-Length: ${length}`,
  ]
  const [before, after] = [`${head.join('\r\n')}\r\n\r\n${pieces[0]}`, pieces[1] ?? '']
  if (fill === undefined) return [Buffer.from(before)]
  return [Buffer.from(before), Buffer.alloc(fill, 'A'), Buffer.from(after)]
}

function wordOf(body: string): string {
  try {
    const { status, error } = JSON.parse(body)
    return status ?? error ?? ''
  } catch {
    return 'without JSON'
  }
}

interface Answer {
  status: number
  body: string
  /** The connection takes no further request. */
  closes: boolean
}

export type Exchange = (request: readonly Buffer[]) => Promise<Answer>

export function openExchange(port: number): Exchange {
  const socket: Socket = connect({ port, host: '127.0.0.1', noDelay: true })
  let received: Buffer = Buffer.alloc(0)
  let waiting: PromiseWithResolvers<Answer> | undefined
  const fail = (error: Error) => waiting?.reject(error)
  socket.on('error', fail)
  socket.on('close', () => fail(new Error('closed')))
  socket.on('data', (chunk: Buffer) => {
    received = received.length === 0 ? chunk : Buffer.concat([received, chunk])
    const answer = parse(received)
    if (!answer) return
    received = Buffer.alloc(0)
    if (answer.closes) socket.destroy()
    waiting?.resolve(answer)
  })
  return (request) => {
    waiting = Promise.withResolvers<Answer>()
    socket.cork()
    for (const piece of request) socket.write(piece)
    socket.uncork()
    return waiting.promise
  }
}

/** An answer with a Content-Length, once it is whole. */
function parse(received: Buffer): Answer | undefined {
  const end = received.indexOf('\r\n\r\n')
  if (end < 0) return undefined
  const head = received.toString('latin1', 0, end)
  const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1]
  if (length === undefined) throw new Error(`an answer without Content-Length:\n${head}`)
  const body = received.subarray(end + 4)
  if (body.length < Number(length)) return undefined
  return { status: Number(head.slice(9, 12)), body: body.toString(), closes: /\r\nconnection: *close/i.test(head) }
}

if (import.meta.main) work(load)
