import { once } from 'node:events'
import { connect as connectHttp2, constants } from 'node:http2'
import { expect, test } from 'vitest'
import { createKey } from '../../server/access/api-keys.ts'
import { SCOPES_OF } from '../../server/access/scopes.ts'
import { connect } from '../../server/db/connect.ts'
import { createAccount } from '../../server/directory/accounts.ts'
import { MAX_STREAMS } from '../../server/stream/stream-leases.ts'
import { countWaiting } from '../harness/lock-queue.ts'
import { atEnd } from '../harness/until-end.ts'
import { letRun, pauseFor, within } from '../harness/waits.ts'
import { startApi } from '../services/api.ts'

const api = await startApi()

const CONNECTIONS = 10
/** Each connection cancels fewer streams a second than `streamResetRate` allows. */
const PER_CONNECTION = 25
/** A send alone takes some 30 ms. One that waits for the pool would wait for the lock, or for the end of a storm. */
const QUICK_MS = 2_000

/** A fresh account that opens streams over connections of its own. */
async function streamingAccount() {
  const { world } = api
  const { id } = await createAccount(world.db, world.clock, 'Streams')
  const { key } = await createKey(world.db, world.clock, {
    accountId: id,
    name: 'k',
    kind: 'live',
    scopes: SCOPES_OF.live,
  })
  const sessions = Array.from({ length: CONNECTIONS }, () => connectHttp2(api.url).on('error', () => {}))
  atEnd(() => {
    for (const session of sessions) session.destroy()
  })
  const head = {
    ':method': 'POST',
    ':path': '/verdict.v1.EventService/StreamEvents',
    'content-type': 'application/grpc',
    te: 'trailers',
    authorization: `Bearer ${key}`,
  }

  /** Opens a stream over gRPC. `state` resolves to its status, or to `open` at its first message. */
  function open(number: number) {
    const stream = sessions[number % sessions.length]!.request(head)
    stream.on('error', () => {})
    const state = Promise.race([
      once(stream, 'data').then(() => 'open'),
      once(stream, 'trailers').then(([trailers]) => `${trailers['grpc-status']} ${trailers['grpc-message']}`),
    ])
    state.catch(() => {})
    // The empty request: no flags, no bytes.
    stream.end(Buffer.alloc(5))
    return { state, end: () => stream.close(constants.NGHTTP2_CANCEL) }
  }
  return { id, open }
}

/** The places that the database counts. */
const leasesOf = async (accountId: string): Promise<number> => {
  const [row] = await api.world.db.$client`
    select coalesce(sum(streams), 0)::int as streams from stream_leases where account_id = ${accountId}`
  return row!.streams
}

/** Sends of another account, one after another. Returns the statuses and the longest time. */
async function sendBeside(times: number) {
  const statuses = new Set<number>()
  let longestMs = 0
  for (let i = 0; i < times; i++) {
    const startMs = performance.now()
    statuses.add((await api.send()).status)
    longestMs = Math.max(longestMs, performance.now() - startMs)
    await pauseFor(20)
  }
  return { statuses: [...statuses], longestMs }
}

test('an account waits for its lock with one connection, and its 101st stream is refused meanwhile', async () => {
  const { id, open } = await streamingAccount()
  const locker = connect(api.world.database.url, { connections: 2 })
  atEnd(() => locker.$client.end({ timeout: 1 }))
  await locker.$client`select 1`
  const lock = await locker.$client.reserve()
  await lock`begin`
  // A lock of the row would have a transaction id, and hold up the streams of all tests that run beside this one.
  await lock`lock table accounts in exclusive mode`
  const streams = Array.from({ length: MAX_STREAMS }, (_, i) => open(i))
  expect(await countWaiting(locker.$client, '%accounts%')).toBe(1)
  expect(await within(QUICK_MS, open(0).state, 'late')).toMatch(/^8 .*100 open streams/)
  const sent = await sendBeside(20)
  await lock`commit`
  lock.release()
  expect(sent).toEqual({ statuses: [200], longestMs: expect.any(Number) })
  expect(sent.longestMs).toBeLessThan(QUICK_MS)
  expect(new Set(await Promise.all(streams.map(({ state }) => state)))).toEqual(new Set(['open']))
  expect(await leasesOf(id)).toBe(MAX_STREAMS)
  for (const { end } of streams) end()
  await expect.poll(() => leasesOf(id)).toBe(0)
})

test('a storm of streams that are opened and left delays no send of another account, and its leases are those that live', async () => {
  const { id, open } = await streamingAccount()
  let isOver = false
  const openAgain = async (number: number) => {
    while (!isOver) {
      const { end } = open(number)
      await letRun(200)
      end()
      await pauseFor(200)
    }
  }
  const storm = Promise.all(Array.from({ length: CONNECTIONS * PER_CONNECTION }, (_, i) => openAgain(i)))
  const { statuses, longestMs } = await sendBeside(30)
  isOver = true
  await storm
  expect(statuses).toEqual([200])
  expect(longestMs).toBeLessThan(QUICK_MS)
  const seven = Array.from({ length: 7 }, (_, i) => open(i))
  expect(await Promise.all(seven.map(({ state }) => state))).toEqual(seven.map(() => 'open'))
  await expect.poll(() => leasesOf(id)).toBe(7)
  expect(api.errors).toEqual([])
})
