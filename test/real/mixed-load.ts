import { createClient as createRpcClient } from '@connectrpc/connect'
import { createGrpcTransport } from '@connectrpc/connect-node'
import { EmailService, SendResponseSchema } from '../../gen/verdict/v1/emails_pb.ts'
import { EventService } from '../../gen/verdict/v1/events_pb.ts'
import { writeMessage } from '../../server/http/rest/json-writer.ts'
import { createClient } from '../faults/client.ts'
import type { Letter } from '../faults/letters.ts'
import { pauseFor } from '../harness/waits.ts'
import type { ClientEntry } from '../reliability/logs.ts'

export interface MixedLoad {
  /** Starts no more requests. Resolves when all have ended, with the number of requests and what failed. */
  stop(): Promise<{ rest: number; grpc: number; repeats: number; failures: Failure[] }>
}

export interface Failure {
  protocol: 'REST' | 'gRPC'
  what: string
  endedAtMs: number
}

interface MixedLoadParts {
  urls: { url: string; grpcUrl: string }
  key: string
  requestsPerSecond: number
  letters: Iterable<Letter>
  /** The log of sends. */
  log: ClientEntry[]
}

/** A repeat has the key of the send that had one this many such sends ago. */
const REPEATED_AFTER = 75
/** A machine too busy for the pace gets fewer requests, not ever more at once. */
const MOST_AT_ONCE = 100

/**
 * Makes requests at a steady pace, by turns over REST and gRPC, without waiting for responses. Of ten requests two list
 * events, four send without a key, two send with one, and two repeat an earlier send with its key, over both protocols.
 */
export function startMixedLoad({ urls, key, requestsPerSecond, letters, log }: MixedLoadParts): MixedLoad {
  const remaining = letters[Symbol.iterator]()
  const keyed: Letter[] = []
  const callers = [restCaller(urls.url, key, log), grpcCaller(urls.grpcUrl, key, log)] as const
  const counts = [0, 0] as [number, number]
  const running = new Set<Promise<void>>()
  const failures: Failure[] = []
  let repeats = 0
  let isStopped = false

  function nextLetter(nth: number): Letter {
    const turn = Math.floor(nth / 2) % 5
    const repeated = turn === 4 ? keyed[keyed.length - REPEATED_AFTER] : undefined
    if (repeated) {
      repeats++
      return repeated
    }
    const { request, to } = remaining.next().value!
    const letter: Letter = { request, to: nth % 10 === 2 ? to : to.slice(0, 1), text: 'All is well.\n' }
    if (turn !== 3) return letter
    const keyedLetter = { ...letter, key: `key ${letter.request}` }
    keyed.push(keyedLetter)
    return keyedLetter
  }

  async function request(nth: number): Promise<void> {
    const protocol = nth % 2
    counts[protocol]!++
    const { list, send } = callers[protocol]!
    const failure = nth % 10 < 2 ? await list() : failureOf(await send(nextLetter(nth)))
    if (failure) failures.push({ protocol: protocol ? 'gRPC' : 'REST', what: failure, endedAtMs: performance.now() })
  }

  const startedAtMs = performance.now()
  const pace = (async () => {
    for (let nth = 0; !isStopped; nth++) {
      const pending = request(nth).finally(() => running.delete(pending))
      running.add(pending)
      while (running.size >= MOST_AT_ONCE) await Promise.race(running)
      await pauseFor(Math.max(0, startedAtMs + ((nth + 1) * 1_000) / requestsPerSecond - performance.now()))
    }
  })()
  return {
    async stop() {
      isStopped = true
      await pace
      await Promise.all(running)
      for (const { close } of callers) close()
      return { rest: counts[0], grpc: counts[1], repeats, failures }
    },
  }
}

interface Caller {
  send(letter: Letter): Promise<ClientEntry>
  /** Resolves to what failed. */
  list(): Promise<string | undefined>
  close(): void
}

const failureOf = ({ status, lost, body }: ClientEntry) => (status === 200 ? undefined : (lost ?? JSON.stringify(body)))

function restCaller(url: string, key: string, log: ClientEntry[]): Caller {
  const { send, get, close } = createClient({ node: 'nginx', url, key }, log)
  const list = () =>
    get('/api/v1/events?limit=1').then(
      ({ status, body }) => (status === 200 ? undefined : `${status} ${JSON.stringify(body)}`),
      (error) => (error as Error).message,
    )
  return { send, list, close }
}

function grpcCaller(baseUrl: string, key: string, log: ClientEntry[]): Caller {
  const transport = createGrpcTransport({ baseUrl })
  const emails = createRpcClient(EmailService, transport)
  const events = createRpcClient(EventService, transport)
  const authorization = `Bearer ${key}`

  async function send({ request, to, text, key }: Letter): Promise<ClientEntry> {
    const entry: ClientEntry = { request, key, node: 'nginx', to, sentAtMs: performance.now() }
    log.push(entry)
    const headers = { authorization, ...(key === undefined ? {} : { 'idempotency-key': key }) }
    try {
      const message = { from: 'Verdict <hello@example.test>', to, subject: request, text }
      const response = await emails.send(message, { headers })
      const body = JSON.parse(JSON.stringify(writeMessage(SendResponseSchema, response)))
      Object.assign(entry, { status: 200, body })
    } catch (error) {
      entry.lost = (error as Error).message
    }
    entry.endedAtMs = performance.now()
    return entry
  }
  const list = () =>
    events.listEvents({ limit: 1 }, { headers: { authorization } }).then(
      () => undefined,
      (error) => (error as Error).message,
    )
  return { send, list, close: () => {} }
}
