import { Agent, request } from 'node:http'
import { startWorker, type Worker, work } from './process.ts'

/** One call of a page, as a browser made it. */
export interface RecordedCall {
  /** The tab that made it. */
  tab: number
  /** Milliseconds from the start of the recording. */
  atMs: number
  path: string
  headers: Record<string, string>
  body: string
}

export interface Tape {
  port: number
  calls: RecordedCall[]
  /** Length of the recording. The tape is played in a circle. */
  lengthMs: number
}

type Question = Tape | 'play' | 'pause'

/** What was played since the last pause. */
export interface Played {
  calls: number
  bytes: number
}

/** As many connections as a browser opens to one origin. */
const CONNECTIONS = 6

/**
 * Starts a process that plays the calls of open tabs at the pace at which they were recorded. Its first question is the
 * tape. `play` goes on where `pause` stopped.
 */
export function startTabs(): Promise<Worker<Question, Played>> {
  return startWorker(import.meta.filename)
}

function tabs(): (question: Question) => Promise<Played> {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS })
  let tape: Tape
  let next = 0
  /** Where the tape is, when it does not play. */
  let pausedAtMs = 0
  let startedMs = 0
  let timer: NodeJS.Timeout | undefined
  let running: Promise<number>[] = []

  /** Whole circles included. */
  const dueMs = () => Math.floor(next / tape.calls.length) * tape.lengthMs + tape.calls[next % tape.calls.length]!.atMs
  const positionMs = () => pausedAtMs + performance.now() - startedMs

  function playNext(): void {
    timer = setTimeout(
      () => {
        running.push(call(agent, tape.port, tape.calls[next++ % tape.calls.length]!))
        playNext()
      },
      Math.max(0, dueMs() - positionMs()),
    )
  }

  return async (question) => {
    if (question === 'play') {
      startedMs = performance.now()
      playNext()
    } else if (question === 'pause') {
      clearTimeout(timer)
      pausedAtMs = positionMs()
      const sizes = await Promise.all(running)
      running = []
      return { calls: sizes.length, bytes: sizes.reduce((sum, size) => sum + size, 0) }
    } else tape = question
    return { calls: 0, bytes: 0 }
  }
}

/** Makes a call again. Returns the length of the response as it came, which may be compressed. */
function call(agent: Agent, port: number, { path, headers, body }: RecordedCall): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>()
  const sent = request({ agent, host: '127.0.0.1', port, path, headers, method: 'POST' }, async (response) => {
    let bytes = 0
    for await (const chunk of response) bytes += chunk.length
    if (response.statusCode === 200) resolve(bytes)
    else reject(new Error(`${path}: ${response.statusCode}`))
  })
  sent.on('error', reject)
  sent.end(body)
  return promise
}

if (import.meta.main) work(tabs())
