import { execFileSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { createKey } from '../../server/access/api-keys.ts'
import { SCOPES } from '../../server/access/scopes.ts'
import { createDatabaseClock } from '../../server/db/clock.ts'
import { parsePublicId, timeOfId } from '../../server/db/ids.ts'
import { createAccount } from '../../server/directory/accounts.ts'
import { createClient } from '../faults/client.ts'
import type { Node } from '../faults/node.ts'
import { PER_MINUTE, rateOf, TINY } from '../faults/rates.ts'
import { startFaultWorld, type World } from '../faults/world.ts'
import { waitForDayOf } from '../harness/periods.ts'
import { temporaryFolder, untilEnd } from '../harness/until-end.ts'
import { eventually } from './daemon.ts'

// Two processes use one database, one of them under libfaketime. It reads its clock (for Date, the logs and OpenSSL)
// from a file each time, so that the clock can jump while the process runs. The monotonic clock stays right, because no
// operating system changes it.

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const SHIFTS: { shift: string; ms: number }[] = [
  // The process starts with the first shift and jumps to all others.
  { shift: '+2h', ms: 2 * HOUR_MS },
  { shift: '-2h', ms: -2 * HOUR_MS },
  { shift: '+26h', ms: 26 * HOUR_MS },
  { shift: '-26h', ms: -26 * HOUR_MS },
]

let world: World
let right: Node
let wrong: Node
let folder: string
const clockFile = () => join(folder, 'clock')
beforeAll(async () => {
  await waitForDayOf(60_000)
  folder = temporaryFolder()
  await writeFile(clockFile(), SHIFTS[0]!.shift)
  // The second day of the warm-up has another limit, and the day before the first has none.
  world = untilEnd(await startFaultWorld({ limits: { ...TINY, warmup: [9_000, 10] } }))
  right = await world.start()
  wrong = await world.start({
    LD_PRELOAD: faketime(),
    FAKETIME_TIMESTAMP_FILE: clockFile(),
    FAKETIME_NO_CACHE: '1',
    FAKETIME_DONT_FAKE_MONOTONIC: '1',
  })
})

function faketime(): string {
  const files = execFileSync('dpkg', ['-L', 'libfaketime'], { encoding: 'utf8' }).split('\n')
  return files.find((file) => file.endsWith('/libfaketimeMT.so.1'))!
}

async function keyOf(accountId: string, expiresAt?: Date): Promise<string> {
  const { db } = world.database
  const clock = await createDatabaseClock(db)
  const newKey = await createKey(db, clock, { accountId, name: 'clocks', kind: 'live', scopes: SCOPES, expiresAt })
  clock.stop()
  return newKey.key
}

/** The response of one process to a request with one key. */
async function getWithKey(node: Node, key: string) {
  const client = createClient({ node: node.name, url: `http://127.0.0.1:${node.wire.http.port}`, key }, [])
  return client.get('/api/v1/events').finally(client.close)
}

let letters = 0
const letter = (key?: string) => {
  const request = `clock-${++letters}`
  return { request, key, to: [`ann.${request}@one.example`], text: 'All is well.' }
}
const idOf = ({ body }: { body?: unknown }) => (body as { message_id: string }).message_id

describe.each(SHIFTS)('a process whose clock is at $shift', ({ shift, ms }) => {
  beforeAll(async () => {
    await writeFile(clockFile(), shift)
    // Node.js reads the clock for this header once a second.
    const isWrong = async () => {
      const { headers } = await wrong.client.get('/healthz')
      return Math.abs(Date.parse(headers.date!) - Date.now() - ms) < MINUTE_MS || undefined
    }
    await eventually(isWrong)
  })

  test('neither locks an account out nor admits more of its requests, and ends rate-limit windows on time', async () => {
    const { db } = world.database
    const clock = await createDatabaseClock(db)
    const { id } = await createAccount(db, clock, 'Tiny')
    clock.stop()
    await world.sql`update accounts set tier = 'tiny' where id = ${id}`
    const key = await keyOf(id)
    const client = (node: Node) =>
      createClient({ node: node.name, url: `http://127.0.0.1:${node.wire.http.port}`, key }, [])
    const clients = [client(right), client(wrong)]
    const burst = () =>
      Promise.all(Array.from({ length: 160 }, (_, i) => clients[i % 2]!.get('/api/v1/events').then(rateOf)))
    for (const window of ['first', 'next']) {
      const rates = await burst()
      expect(rates.filter(({ admitted }) => admitted).length, window).toBe(PER_MINUTE)
      const remainingSeconds = rates.map(({ reset }) => reset - Date.now() / 1_000)
      expect(Math.max(...remainingSeconds)).toBeLessThan(62)
      expect(Math.min(...remainingSeconds)).toBeGreaterThan(0)
      await world.sql`update rate_windows set started_at = started_at - interval '60 seconds' where caller = ${id}`
    }
    for (const { close } of clients) close()
  })

  test("keeps idempotency keys for 24 hours by the database's clock", async () => {
    for (const [first, second] of [
      [right, wrong],
      [wrong, right],
    ] as const) {
      const keyedLetter = letter(`life-${shift}-${first.name}`)
      const messageId = idOf(await first.client.send(keyedLetter))
      const [row] = await world.sql`select extract(epoch from expires_at - now())::float8 as seconds
        from idempotency_keys where key = ${keyedLetter.key!}`
      expect(Math.abs(row!.seconds - 86_400)).toBeLessThan(60)
      expect(idOf(await second.client.send(keyedLetter))).toBe(messageId)
      const expireIn = (time: string) =>
        world.sql`update idempotency_keys set expires_at = now() + ${time}::interval where key = ${keyedLetter.key!}`
      await expireIn('5 seconds')
      expect(idOf(await second.client.send(keyedLetter))).toBe(messageId)
      await expireIn('-1 second')
      expect(idOf(await second.client.send(letter(keyedLetter.key)))).not.toBe(messageId)
    }
  })

  test('stores messages and events with the time of the database, in the partition of that day', async () => {
    const message = idOf(await wrong.client.send(letter()))
    const id = parsePublicId('msg', message)!
    const [row] = await world.sql`
      select m.tableoid::regclass::text as messages, e.tableoid::regclass::text as events,
        to_char(now() at time zone 'utc', 'YYYYMMDD') as today, extract(epoch from now())::float8 * 1000 as now
      from messages m join events e on e.message_id = m.id where m.id = ${id}`
    const { today, now } = row!
    expect(row).toMatchObject({ messages: `messages_${today}`, events: `events_${today}` })
    expect(Math.abs(timeOfId(id) - now)).toBeLessThan(MINUTE_MS)
    for (const node of [right, wrong]) {
      const { status, body } = await node.client.get(`/api/v1/emails/${message}`)
      expect(status).toBe(200)
      expect(Math.abs(Date.parse((body as { createdAt: string }).createdAt) - now)).toBeLessThan(MINUTE_MS)
      const list = await node.client.get(`/api/v1/events?message_id=${message}`)
      expect((list.body as { events: unknown[] }).events).toHaveLength(1)
    }
  })

  test('signs and dates mail with the time of the database', async () => {
    await wrong.client.send(letter())
    const { content } = world.servers.get('one.example')!.messages.at(-1)!
    const [, date] = /^Date: (.*)\r$/m.exec(content)!
    expect(Math.abs(Date.parse(date!) - Date.now())).toBeLessThan(MINUTE_MS)
    const [, signatureTime] = /[;\s]t=(\d+)/.exec(content)!
    expect(Math.abs(Number(signatureTime) * 1_000 - Date.now())).toBeLessThan(MINUTE_MS)
  })

  test("counts a warm-up on the database's day", async () => {
    await world.sql`update warm_ups set emails = 0`
    for (const node of [right, wrong]) {
      const sends = await Promise.all(Array.from({ length: 15 }, () => node.client.send(letter())))
      expect(sends.map(({ status }) => status)).toEqual(sends.map(() => 200))
    }
    const days = await world.sql`select day = (now() at time zone 'utc')::date as today, emails from warm_ups`
    expect(days).toEqual([{ today: true, emails: 30 }])
  })

  test("accepts API keys until they expire by the database's clock", async () => {
    const keyFor = (minutes: number) => keyOf(world.account.id, new Date(Date.now() + minutes * MINUTE_MS))
    const [valid, expired] = [await keyFor(60), await keyFor(-60)]
    for (const node of [right, wrong]) {
      expect((await getWithKey(node, valid)).status).toBe(200)
      expect((await getWithKey(node, expired)).status).toBe(401)
    }
  })
})

test('the logs of callers, mail servers, database and processes agree', async () => {
  // Each key expired once and was then used for another request.
  for (const entry of world.logs.requests) entry.key = undefined
  expect(await world.verdict()).toEqual([])
})
