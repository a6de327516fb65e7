import { Code, ConnectError, createClient } from '@connectrpc/connect'
import { createGrpcTransport } from '@connectrpc/connect-node'
import { EventService } from '../../gen/verdict/v1/events_pb.ts'
import { pauseFor } from '../harness/waits.ts'

// Programs that follow the stream of events while processes and databases are killed. Each keeps its last position, as
// a real one does, and resumes there.

export interface ReaderParts {
  /** The process for the next stream. */
  urlOf(): string
  key: string
  /** Where to start: a position, or `begin`. */
  after?: string
  /** Whether to end the stream after an event and resume, of its own accord. */
  leaves?(): boolean
}

export interface Reader {
  /** The events in the order of their arrival. */
  received: string[]
  /** The position after each event. */
  positions: Map<string, string>
  position: string
  /** How often it has opened a stream. */
  streams: number
  /** The refusals of a position or a key: no fault makes a good one bad. */
  refusals: string[]
  stop(): Promise<void>
}

/** The codes of a call that its caller must not repeat. */
const FINAL = [
  Code.InvalidArgument,
  Code.NotFound,
  Code.Unauthenticated,
  Code.PermissionDenied,
  Code.FailedPrecondition,
  Code.Unimplemented,
]
const RETRY_MS = 50

type ReadSome = (reader: Reader, signal: AbortSignal) => Promise<void>

/** Reads until it is stopped. `readSome` ends or throws when its stream does. */
function startReader({ after = 'begin' }: ReaderParts, readSome: ReadSome): Reader {
  const stopped = new AbortController()
  const reader: Reader = { received: [], positions: new Map(), position: after, streams: 0, refusals: [], stop }

  async function read(): Promise<void> {
    while (!stopped.signal.aborted) {
      reader.streams++
      await readSome(reader, stopped.signal).catch(async (error) => {
        const { code, message } = ConnectError.from(error)
        if (FINAL.includes(code)) {
          reader.refusals.push(message)
          return stopped.abort()
        }
        await pauseFor(RETRY_MS)
      })
    }
  }
  const ended = read()
  function stop(): Promise<void> {
    stopped.abort()
    return ended
  }
  return reader
}

/** Follows the stream over gRPC. */
export function readOverGrpc(parts: ReaderParts): Reader {
  const { urlOf, key, leaves = () => false } = parts
  const headers = { authorization: `Bearer ${key}` }
  return startReader(parts, async (reader, signal) => {
    const client = createClient(EventService, createGrpcTransport({ baseUrl: urlOf() }))
    for await (const { events, position } of client.streamEvents({ after: reader.position }, { headers, signal })) {
      for (const change of events) {
        take(reader, change.event!.eventId, change.position)
        reader.position = change.position
        if (leaves()) return
      }
      reader.position = position
    }
  })
}

/** Reads pages over REST, and waits for the first event after the last one. */
export function readOverRest(parts: ReaderParts): Reader {
  const { urlOf, key } = parts
  const headers = { authorization: `Bearer ${key}` }
  return startReader(parts, async (reader, signal) => {
    const url = `${urlOf()}/api/v1/events/changes?limit=100&wait_s=5&after=${reader.position}`
    const response = await fetch(url, { headers, signal })
    const body = (await response.json()) as Page
    if ([400, 401, 403, 410].includes(response.status)) throw new ConnectError(body.message, Code.InvalidArgument)
    if (response.status !== 200) throw new ConnectError(body.message, Code.Unavailable)
    for (const { event, position } of body.events) take(reader, event.event_id, position)
    reader.position = body.position
  })
}

function take({ received, positions }: Reader, id: string, position: string): void {
  received.push(id)
  positions.set(id, position)
}

interface Page {
  events: { event: { event_id: string }; position: string }[]
  position: string
  message: string
}

/** How what a reader got differs from what was committed, in the order of the stream. Empty when it does not. */
export function differencesOf(received: readonly string[], committed: readonly string[]): string[] {
  const [got, all] = [new Set(received), new Set(committed)]
  const found = {
    missed: committed.filter((id) => !got.has(id)).length,
    repeated: received.length - got.size,
    'never committed': received.filter((id) => !all.has(id)).length,
  }
  const differences = Object.entries(found).flatMap(([what, count]) => (count > 0 ? `${count} ${what}` : []))
  const place = received.findIndex((id, i) => id !== committed[i])
  if (place >= 0) differences.push(`another order from event ${place} on`)
  return differences
}
