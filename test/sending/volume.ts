import { expect, test } from 'vitest'
import type { DeliveryStatus } from '../../gen/verdict/v1/outcomes_pb.ts'
import { connect, type Database } from '../../server/db/connect.ts'
import { sql } from '../../server/db/drizzle.ts'
import { newId } from '../../server/db/ids.ts'
import { statusNames } from '../../server/db/outcome-names.ts'
import { openMessages, openRecipients } from '../../server/db/schema.ts'
import { run } from '../../server/db/statement.ts'
import { reasonOf } from '../../server/errors.ts'
import { type Claim, createClaim } from '../../server/ledger/claim.ts'
import { sweep } from '../../server/ledger/sweep.ts'
import type { SendParts } from '../../server/sending/send.ts'
import { newClaim } from '../harness/claim.ts'
import { message, script, type World } from './world.ts'

// What the tests of the two limits of volume share: the warm-up of a domain and the quota of an account.

/** The UTC day of the database's clock. */
export const todayIn = ({ clock }: World) => new Date(clock.now()).toISOString().slice(0, 10)

/** `delivered`, or the error code. */
export const resultOf = (sending: Promise<{ status: DeliveryStatus }>) =>
  sending.then(
    ({ status }) => statusNames.name(status) as string,
    (error) => reasonOf(error),
  )

/** What 1,000 sends end with, 100 at a time. One for which a busy machine had no time is sent again. */
async function resultsOfMany(
  send: (i: number) => Promise<{ status: DeliveryStatus }>,
): Promise<(string | undefined)[]> {
  const waiting = Array.from({ length: 1_000 }, (_, i) => i)
  const results: (string | undefined)[] = []
  const work = async () => {
    for (let i = waiting.pop(); i !== undefined; i = waiting.pop()) {
      const result = await resultOf(send(i))
      if (result === 'transient_failure') waiting.push(i)
      else results.push(result)
    }
  }
  await Promise.all(Array.from({ length: 100 }, work))
  return results
}

/** The seconds that an error tells its caller to wait. */
export function retryAfterOf({ details }: { details: { desc: { name: string }; value: RetryInfo }[] }): number {
  return Number(details.find(({ desc }) => desc.name === 'RetryInfo')!.value.retryDelay.seconds)
}
interface RetryInfo {
  retryDelay: { seconds: bigint }
}

type Taken = Pick<typeof openMessages.$inferInsert, 'warmUpDay' | 'warmUpEmails' | 'quotaMonth' | 'quotaEmails'>

/** Stores three sends of a process that has crashed, each with emails `taken` of a limit. The last one has a marker. */
async function addCrashedSends({ db, account }: World, taken: Taken): Promise<void> {
  const accountId = account.id
  const request = { from: '', to: [], subject: '', headers: [], attachments: [] }
  for (const isMarked of [false, false, true]) {
    const id = newId(Date.now())
    const lease = { claim: id, leaseUntil: sql`now() - interval '1 second'` }
    const stored = { id, accountId, createdAt: sql`now()`, region: 'eu', domain: 'example.test', request }
    await db.insert(openMessages).values({ ...stored, ...lease, ...taken })
    const recipient = { messageId: id, accountId, position: 0, eventId: id, email: 'a@example.net' }
    await db.insert(openRecipients).values({ ...recipient, ...lease, markedAt: isMarked ? sql`now()` : null })
  }
}

const WAITING = `
  select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`

/** Waits until a statement waits for a lock. */
export async function untilLocked(db: Database): Promise<void> {
  await expect.poll(() => run(db, WAITING)).not.toHaveLength(0)
}

/** One of the two limits of volume, of which `most` emails may be sent. */
interface Limit {
  world: World
  most: number
  /** The parts of a send for which this limit alone decides. */
  parts: Partial<SendParts>
  /** The parts of another process, and those of a process whose check before the claim sees no email. */
  elsewhere(db: Database): Partial<SendParts>
  blind: Partial<SendParts>
  used(emails: number): Promise<unknown>
  sent(): Promise<number>
  /** What a claim of these emails takes of the limit, here 500, and its result without room. */
  claiming(emails: number): Partial<Claim>
  over: string
  crashed(): Taken
}

/** The laws of both limits. */
export function testLimit(
  name: string,
  { world, most, parts, elsewhere, blind, used, sent, claiming, over, crashed }: Limit,
): void {
  const { options } = world
  const claimOf = (emails: number, i: number, key?: string) =>
    newClaim({
      accountId: world.account.id,
      leaseMs: 0,
      createdAtMs: world.clock.now() + i,
      to: Array.from({ length: emails }, () => 'ann@example.net'),
      key: key === undefined ? undefined : { scope: 'send/live', key, requestHash: '00' },
      ...claiming(emails),
    })

  test(`${name}: the limit is exact with 1,000 sends over two nodes, 100 at a time`, async () => {
    await used(most - 10)
    const other = connect(world.database.url)
    const nodes = [world.sendAlone(parts), world.sendAlone({ ...parts, db: other, ...elsewhere(other) })]
    const words = await resultsOfMany((i) => nodes[i % 2]!(message({ to: [`ann${i}@example.net`] }), options()))
    await other.$client.end()
    expect(words.filter((word) => word === 'delivered')).toHaveLength(10)
    expect(words.filter((word) => word !== 'delivered')).toEqual(Array(990).fill('rate_limit_exceeded'))
    expect(await sent()).toBe(most)
  })

  test(`${name}: the claim alone is exact, whatever the check before it read`, async () => {
    await used(most - 10)
    const send = world.sendAlone({ ...parts, ...blind })
    const words = await Promise.all(
      Array.from({ length: 200 }, (_, i) => resultOf(send(message({ to: [`bob${i}@example.net`] }), options()))),
    )
    expect(words.filter((word) => word === 'delivered')).toHaveLength(10)
    expect(await sent()).toBe(most)
  })

  test(`${name}: of messages that are claimed together, one that does not fit keeps out none that fits`, async () => {
    await used(494)
    const claim = createClaim(world.db)
    // The first is claimed alone, and those that wait for it are claimed together.
    const claims = [1, 6, 1].map((emails, i) => claim(claimOf(emails, i)))
    expect(await Promise.all(claims)).toEqual(['claimed', over, 'claimed'])
    expect(await sent()).toBe(496)
    await sweep(world.db)
  })

  test(`${name}: a message that loses its key to another takes no place from those that are claimed with it`, async () => {
    await used(496)
    const claim = createClaim(world.db)
    expect(await claim(claimOf(1, 0, 'taken'))).toBe('claimed')
    // The first is claimed alone. Those that wait for it are claimed together: a key that is taken, two equal keys, and
    // a message without one.
    const together = [undefined, 'taken', 'twice', 'twice', undefined].map((key, i) => claim(claimOf(1, i, key)))
    expect(await Promise.all(together)).toEqual(['claimed', 'key_taken', 'claimed', 'key_taken', 'claimed'])
    expect(await claim(claimOf(1, 5))).toBe(over)
    expect(await sent()).toBe(500)
    await sweep(world.db)
  })

  test(`${name}: sends that never reach SMTP, dry runs and the simulator do not count`, async () => {
    const send = world.sendAlone(parts)
    await send(message({ to: ['a@gone.org'] }), options())
    await send(message({ to: ['a@nowhere.example'] }), options())
    await send(message(), options({ sandbox: true }))
    await send(message({ to: ['delivered@simulator.test', 'mailbox_full@simulator.test'] }), options())
    expect(await sent()).toBe(0)
    await used(most)
    expect(await resultOf(send(message({ to: ['delivered@simulator.test'] }), options()))).toBe('delivered')
    expect(await resultOf(send(message(), options({ sandbox: true })))).toBe('rate_limit_exceeded')
  })

  test(`${name}: only the commit that deletes a claim returns its emails`, async () => {
    const goesOn = Promise.withResolvers<void>()
    script(world, { data: { after: goesOn.promise, act: '354 go ahead' } })
    const leaving = new AbortController()
    const send = world.sendAlone(parts)
    const [left, stayed] = [send(message(), { ...options(), signal: leaving.signal }), send(message(), options())]
    await expect.poll(sent, { interval: 10 }).toBe(2)
    leaving.abort(new Error('left'))
    expect(await resultOf(left)).toBe('transient_failure')
    expect(await sent()).toBe(1)
    goesOn.resolve()
    expect(await resultOf(stayed)).toBe('delivered')
    expect(await sent()).toBe(1)
  })

  test(`${name}: the sweeper returns the emails of crashed sends without a marker, and no others`, async () => {
    await used(100)
    await addCrashedSends(world, crashed())
    expect(await sweep(world.db)).toEqual({ settled: 1, released: 2 })
    expect(await sent()).toBe(86)
  })
}
