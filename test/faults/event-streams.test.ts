import postgres from 'postgres'
import { beforeEach, expect, test } from 'vitest'
import { connect } from '../../server/db/connect.ts'
import { newId, publicId } from '../../server/db/ids.ts'
import { uuidArray } from '../../server/db/statement.ts'
import { untilEnd } from '../harness/until-end.ts'
import { letRun, pauseFor } from '../harness/waits.ts'
import { letters } from './letters.ts'
import { runLoad } from './load.ts'
import { startReplicas } from './replicas.ts'
import { diceFor } from './seed.ts'
import { differencesOf, type Reader, readOverGrpc, readOverRest } from './stream-readers.ts'
import { startFaultWorld, type World } from './world.ts'

// STREAM_KILLS=30 STREAM_EVENTS=200000 make the long run.

const KILLS = Number(process.env.STREAM_KILLS ?? 6)
const EVENTS = Number(process.env.STREAM_EVENTS ?? 5_000)
const WRITERS = 6
const HELD_MS = 3_000
/** The most events of a transaction. */
const PER_TRANSACTION = 12
/** About how often the restless reader leaves. */
const LEAVES = 50
/** A busy machine reads a thousand events a second. */
const CAUGHT_UP_MS = 120_000 + EVENTS
/** More than the lease of a send and the pause of the sweeper. */
const SWEPT_MS = 90_000

let replicas: Awaited<ReturnType<typeof startReplicas>>
let world: World
beforeEach(async () => {
  replicas = await startReplicas()
  world = untilEnd(await startFaultWorld({ database: replicas.database, env: { DATABASE_URL: replicas.url } }))
})

const dice = diceFor('event streams')

const INSERT = `
  insert into events (id, message_id, account_id, status, recipient, sandbox, created_at)
  select id, id, $2, 'delivered', 'ann@example.net', false, now() from unnest($1::uuid[]) as id`

/**
 * Commits events in transactions that overlap, some of them rolled back, until `stop` is called and all are stored.
 * Transactions that a fault ends may be committed or not: the table says.
 */
function startWriters(accountId: string) {
  const db = connect(replicas.url, { connections: WRITERS })
  let stored = 0
  let isRunning = true
  async function write(): Promise<void> {
    while (isRunning || stored < EVENTS) {
      const ids = Array.from({ length: dice.between(1, PER_TRANSACTION) }, () => newId(Date.now()))
      const commit = db.$client.begin(async (tx) => {
        await tx.unsafe(INSERT, [uuidArray(ids), accountId])
        await pauseFor(dice.chance(0.2) ? dice.between(1, 300) : 0)
        if (dice.chance(0.05)) throw new Error('rolled back')
      })
      await commit.then(
        () => {
          stored += ids.length
        },
        () => pauseFor(20),
      )
    }
  }
  const ended = Promise.all(Array.from({ length: WRITERS }, write))
  return {
    async stop(): Promise<void> {
      isRunning = false
      await ended
      await db.$client.end()
    },
  }
}

/** A transaction in another database of the cluster that is open for some seconds: events wait for it. */
async function holdHorizon(): Promise<void> {
  const url = new URL(replicas.database.url)
  url.pathname = '/postgres'
  const session = postgres(url.href, { max: 1 })
  const held = session.begin(async (tx) => {
    await tx`select pg_current_xact_id()`
    await pauseFor(HELD_MS)
  })
  await held.catch(() => {})
  await session.end()
}

async function openSends(): Promise<number> {
  const [row] = await world.sql`select count(*)::int as sends from open_messages`
  return row!.sends
}

async function committed(accountId: string): Promise<string[]> {
  const rows = await world.sql`select id from events where account_id = ${accountId} order by stream_order, id`
  return rows.map(({ id }) => publicId('evt', id))
}

test(`every reader gets each committed event once and in order, over ${KILLS} kills of processes, a promotion and a foreign transaction`, async () => {
  const nodes = [await world.start(), await world.start()]
  const other = await world.openAccount('streams.test')
  const urlOf = () => dice.pick(nodes).api.url
  const readers: Record<string, Reader> = {
    steady: readOverGrpc({ urlOf, key: other.key }),
    restless: readOverGrpc({ urlOf, key: other.key, leaves: () => dice.chance(LEAVES / EVENTS) }),
    rest: readOverRest({ urlOf, key: other.key }),
  }
  const ofSends = readOverGrpc({ urlOf, key: world.account.key })
  const writers = startWriters(other.id)
  const load = runLoad(4, letters('streams', 100_000, dice), () => dice.pick(nodes))
  let held: Promise<void> | undefined

  for (let i = 0; i < KILLS; i++) {
    const next = world.start()
    if (i === 1) held = holdHorizon()
    await letRun(dice.between(500, 2_000))
    const place = dice.between(0, 1)
    const victim = nodes[place]!
    victim.kill()
    nodes[place] = await next
    await victim.cleanUp()
    if (i !== Math.floor(KILLS / 2)) continue
    await held
    await replicas.first.kill()
    await letRun(1_000)
    await replicas.promote(replicas.second)
  }
  await letRun(1_000)
  await Promise.all([writers.stop(), load.stop()])

  // The sweeper ends the sends of killed processes, and their events come then.
  await expect.poll(openSends, { timeout: SWEPT_MS }).toBe(0)

  const late = readOverGrpc({ urlOf, key: other.key })
  const [events, sent] = [await committed(other.id), await committed(world.account.id)]
  const all = Object.entries({ ...readers, late }).map(([name, reader]) => ({ name, reader, events }))
  all.push({ name: 'of sends', reader: ofSends, events: sent })
  for (const { name, reader, events } of all)
    await expect
      .poll(() => reader.received.length, { timeout: CAUGHT_UP_MS, message: name })
      .toBeGreaterThanOrEqual(events.length)
  // Time for an event that comes once more.
  await letRun(1_000)
  await Promise.all(all.map(({ reader }) => reader.stop()))
  console.log(
    `${events.length} events, ${sent.length} of sends;`,
    all.map(({ name, reader }) => `${name}: ${reader.streams} streams`).join(', '),
  )
  for (const { name, reader, events } of all)
    expect({ name, refusals: reader.refusals, differences: differencesOf(reader.received, events) }).toEqual({
      name,
      refusals: [],
      differences: [],
    })
  expect(events.length).toBeGreaterThan(EVENTS / 2)
  expect(readers.steady!.streams).toBeGreaterThan(2)
})
