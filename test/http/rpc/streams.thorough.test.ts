import { once } from 'node:events'
import { Code, ConnectError, createClient } from '@connectrpc/connect'
import { expect, test } from 'vitest'
import { EventService } from '../../../gen/verdict/v1/events_pb.ts'
import { fail, reasonOf } from '../../../server/errors.ts'
import { PROTOCOLS, type Protocol, TRANSPORTS } from '../../harness/transports.ts'
import { type Gateway, KEY, type Parts, startGateway } from '../gateway.ts'

// All protocols show the same of a stream. The usual forms are served in process, others by the protocol library.

function open(
  { url }: Gateway,
  protocol: Protocol,
  request = {},
  options: { signal?: AbortSignal; timeoutMs?: number } = {},
) {
  const transport = TRANSPORTS[protocol]({ baseUrl: url, httpVersion: '2' })
  const seen = { headers: new Headers(), trailers: new Headers() }
  const messages = createClient(EventService, transport).streamEvents(request, {
    ...options,
    headers: { authorization: `Bearer ${KEY}` },
    onHeader: (headers) => {
      seen.headers = headers
    },
    onTrailer: (trailers) => {
      seen.trailers = trailers
    },
  })
  return { messages, seen }
}

async function positionsOf(messages: AsyncIterable<{ position: string }>): Promise<string[]> {
  const positions = []
  for await (const { position } of messages) positions.push(position)
  return positions
}

const failureOf = (work: Promise<unknown>) => work.then(() => undefined, ConnectError.from)

test.each(PROTOCOLS)('%s: headers, messages in turn, and trailers', async (protocol) => {
  await using gateway = await startGateway({
    async *streamEvents(_, { responseHeader, responseTrailer }) {
      responseHeader.set('x-own', 'a')
      responseTrailer.set('x-own-trailer', 'b')
      yield { position: 'first' }
      // Long enough to be packed where the caller takes that.
      yield { position: 'x'.repeat(5_000) }
    },
  })
  const { messages, seen } = open(gateway, protocol)
  expect(await positionsOf(messages)).toEqual(['first', 'x'.repeat(5_000)])
  // A stock nginx keeps the messages of a stream back unless the last of these says no.
  const headers = { 'x-own': 'a', 'x-ratelimit-remaining': '588', 'x-accel-buffering': 'no' }
  expect(Object.fromEntries(seen.headers)).toMatchObject(headers)
  expect(seen.trailers.get('x-own-trailer')).toBe('b')
})

test.each(PROTOCOLS)('%s: a stream without a message ends well', async (protocol) => {
  await using gateway = await startGateway()
  expect(await positionsOf(open(gateway, protocol).messages)).toEqual([])
})

test.each(PROTOCOLS)('%s: an error before and after the first message reaches the caller', async (protocol) => {
  for (const messages of [[], [{ position: 'last' }]]) {
    await using gateway = await startGateway({
      async *streamEvents() {
        yield* messages
        throw fail('transient_failure', 'This server is shutting down.')
      },
    })
    const positions: string[] = []
    const failure = await failureOf(
      (async () => {
        for await (const { position } of open(gateway, protocol).messages) positions.push(position)
      })(),
    )
    expect(positions).toEqual(messages.map(({ position }) => position))
    expect(failure).toMatchObject({ code: Code.Unavailable, rawMessage: 'This server is shutting down.' })
    expect(reasonOf(failure)).toBe('transient_failure')
    await expect.poll(() => gateway.lines.at(-1)).toMatchObject({ code: 'transient_failure' })
  }
})

/** A stream that is silent after its first message, until its signal is aborted. */
function silent() {
  const ended = Promise.withResolvers<unknown>()
  const parts: Parts = {
    async *streamEvents(_, { signal }) {
      try {
        yield { position: 'first' }
        if (!signal.aborted) await once(signal, 'abort')
        throw signal.reason
      } finally {
        ended.resolve(signal.reason)
      }
    },
  }
  return { parts, ended: ended.promise }
}

test.each(PROTOCOLS)('%s: the work ends when the caller leaves', async (protocol) => {
  const { parts, ended } = silent()
  await using gateway = await startGateway(parts)
  const left = new AbortController()
  const iterator = open(gateway, protocol, {}, { signal: left.signal }).messages[Symbol.asyncIterator]()
  expect((await iterator.next()).value).toMatchObject({ position: 'first' })
  const next = failureOf(iterator.next())
  left.abort()
  expect(await next).toMatchObject({ code: Code.Canceled })
  expect(await ended).toMatchObject({ code: Code.Canceled })
})

test.each(PROTOCOLS)('%s: the work ends at the deadline, and the caller gets deadline_exceeded', async (protocol) => {
  const { parts, ended } = silent()
  await using gateway = await startGateway(parts)
  expect(await failureOf(positionsOf(open(gateway, protocol, {}, { timeoutMs: 300 }).messages))).toMatchObject({
    code: Code.DeadlineExceeded,
  })
  expect(await ended).toBeDefined()
})

test.each(PROTOCOLS)('%s: text that nothing can store is refused, as on REST', async (protocol) => {
  await using gateway = await startGateway()
  const failure = await failureOf(positionsOf(open(gateway, protocol, { tag: 'a\0' }).messages))
  expect(failure).toMatchObject({ code: Code.InvalidArgument, rawMessage: expect.stringContaining('tag') })
  expect(reasonOf(failure)).toBe('invalid_payload')
})
