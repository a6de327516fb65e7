import { once } from 'node:events'
import { connect, type IncomingHttpHeaders } from 'node:http2'
import { buffer } from 'node:stream/consumers'
import { fromBinary } from '@bufbuild/protobuf'
import { expect, test } from 'vitest'
import { EventService, type StreamEventsResponse, StreamEventsResponseSchema } from '../../gen/verdict/v1/events_pb.ts'
import { newId, publicId } from '../../server/db/ids.ts'
import { uuidArray } from '../../server/db/statement.ts'
import { createEventQueue } from '../../server/stream/event-queue.ts'
import { outlast } from '../harness/waits.ts'
import { startApi } from '../services/api.ts'

const api = await startApi()

/** Far more than fits into a queue of 500 events, and into the buffers of a connection. */
const EVENTS = 3_000
const PER_COMMIT = 100
/** Longer than a message may wait for its reader, and shorter than a response may stay unread. */
const SLOW_MS = 21_000

const INSERT = `
  insert into events (id, message_id, account_id, status, recipient, sandbox, created_at)
  select id, id, $2, 'delivered', 'ann@example.net', false, now() from unnest($1::uuid[]) as id`

async function store(): Promise<string[]> {
  const { world } = api
  const ids = Array.from({ length: EVENTS }, () => newId(world.clock.now())).toSorted()
  for (let i = 0; i < EVENTS; i += PER_COMMIT) {
    const part = ids.slice(i, i + PER_COMMIT)
    await world.db.$client.unsafe(INSERT, [uuidArray(part), world.account.id])
  }
  return ids.map((id) => publicId('evt', id))
}

/** Opens a stream over gRPC. Nothing more than a window of the protocol, 64 KiB, arrives before `read` is called. */
async function openSlowly() {
  const session = connect(api.url)
  const stream = session.request({
    ':method': 'POST',
    ':path': '/verdict.v1.EventService/StreamEvents',
    'content-type': 'application/grpc',
    te: 'trailers',
    authorization: `Bearer ${api.keys.live}`,
  })
  let trailers: IncomingHttpHeaders = {}
  stream.on('trailers', (found) => {
    trailers = found
  })
  // The empty request: no flags, no bytes.
  stream.end(Buffer.alloc(5))
  await once(stream, 'readable')
  return {
    async read() {
      const bytes = await buffer(stream)
      session.close()
      return { messages: messagesOf(bytes), trailers }
    },
  }
}

/** Each message has its length before it. */
function messagesOf(bytes: Buffer): StreamEventsResponse[] {
  const found: StreamEventsResponse[] = []
  for (let at = 0; at < bytes.length; ) {
    const end = at + 5 + bytes.readUInt32BE(at + 1)
    found.push(fromBinary(StreamEventsResponseSchema, bytes.subarray(at + 5, end)))
    at = end
  }
  return found
}

const idsOf = ({ events }: StreamEventsResponse) => events.map(({ event }) => event!.eventId)

test('a queue takes 500 events, says then that it is full, and keeps what it has', async () => {
  const queue = createEventQueue<number>()
  for (let n = 0; n < 5; n++) expect(queue.put(n, 100)).toBe(true)
  expect([queue.put(5, 1), queue.put(6, 1)]).toEqual([false, false])
  const read = []
  for (let n = 0; n < 6; n++) read.push(await queue.next(1))
  expect(read).toEqual([0, 1, 2, 3, 4, 'full'])
})

test('a stream that is read too slowly ends with a position, and no event is lost or repeated after it', async () => {
  const slow = await openSlowly()
  const stored = await store()
  await outlast(SLOW_MS)
  const { messages, trailers } = await slow.read()
  expect(trailers).toMatchObject({
    'grpc-status': '14',
    'grpc-message': expect.stringContaining('you read too slowly'),
  })
  const received = messages.flatMap(idsOf)
  // Its buffers are bounded: most events were never sent.
  expect(received.length).toBeLessThan(EVENTS / 2)
  const ended = new AbortController()
  const client = api.grpc(EventService)
  const { position } = messages.at(-1)!
  for await (const message of client.streamEvents({ after: position }, { signal: ended.signal })) {
    received.push(...idsOf(message))
    if (received.length >= EVENTS) break
  }
  ended.abort()
  expect(received).toEqual(stored)
}, 60_000)
