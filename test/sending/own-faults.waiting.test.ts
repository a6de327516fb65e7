import { generateKeyPairSync } from 'node:crypto'
import { beforeEach, expect, test } from 'vitest'
import { DeliveryStatus, Reason } from '../../gen/verdict/v1/outcomes_pb.ts'
import { events, messages, openMessages, openRecipients } from '../../server/db/schema.ts'
import { run } from '../../server/db/statement.ts'
import { createSenderDomains, type SenderDomains } from '../../server/domains/sender.ts'
import { reasonOf } from '../../server/errors.ts'
import { sweep } from '../../server/ledger/sweep.ts'
import { aroundStatements } from '../harness/around-statements.ts'
import { mx } from '../harness/dns.ts'
import { refuseRows } from '../harness/refuse-rows.ts'
import { stopwatch } from '../harness/stopwatch.ts'
import { takes } from '../harness/waits.ts'
import { message, script, startSendingWorld } from './world.ts'

// A fault of ours is never told as the recipient's. Without leave no dot is sent, and the caller may send again.

const world = await startSendingWorld({ 'MX other.org': [mx('other.org', 10, 'mx.example.net')] })
beforeEach(() => {
  world.exchanger.messages.length = 0
  world.exchanger.sessions.length = 0
})

const { options } = world
const rows = async () => ({
  open: [await world.db.$count(openMessages), await world.db.$count(openRecipients)],
  history: [await world.db.$count(messages), await world.db.$count(events)],
})

/** Holds the lock that a marker waits for. */
async function lockMarkers(ms: number): Promise<void> {
  const { promise: isLocked, resolve } = Promise.withResolvers<void>()
  void world.db.transaction(async (tx) => {
    await run(tx, 'lock table open_recipients in share mode')
    resolve()
    await takes(ms, undefined)
  })
  await isLocked
}

test('a marker that waits for a lock longer than the budget is our fault: 500, and nothing is left of the send', async () => {
  const before = await rows()
  script(world, { rcpt: () => ({ after: lockMarkers(4_000), act: '250 ok' }) })
  const send = world.sendAlone({ sendBudgetMs: 4_000 })
  const error = await send(message(), options()).catch((error) => error)
  expect(reasonOf(error)).toBe('transient_failure')
  expect(error.rawMessage).toMatch(/no leave for the dot in time.*Nothing was sent; it is safe to retry/)
  expect(world.exchanger.messages).toEqual([])
  expect(await rows()).toEqual(before)
})

const refuseMarkers = () => refuseRows(world.db, 'update on', 'open_recipients')

test('a send whose marker fails begins again, and is delivered once', async () => {
  const mayMark = await refuseMarkers()
  // The second transaction of the send is that of its second try.
  let mails = 0
  script(world, { mail: () => (++mails === 2 ? { after: mayMark(), act: '250 ok' } : undefined) })
  const response = await world.sendAlone()(message(), options())
  expect(response?.status).toBe(DeliveryStatus.DELIVERED)
  expect([mails, world.exchanger.messages.length]).toEqual([2, 1])
})

test('beside a recipient with an outcome, the fault is named as ours, and no server with it', async () => {
  script(world, { rcpt: (line) => (line.includes('gone@') ? '550 5.1.1 User unknown' : undefined) })
  const mayMark = await refuseMarkers()
  const to = ['ann@example.net', 'gone@other.org']
  const response = await world.sendAlone()(message({ to }), options())
  await mayMark()
  expect(response?.recipients).toMatchObject([
    { status: DeliveryStatus.BOUNCED, reason: Reason.TEMPORARY_FAILURE, retryable: true },
    { status: DeliveryStatus.BOUNCED, reason: Reason.MAILBOX_DOES_NOT_EXIST },
  ])
  const { smtp, detail } = response!.recipients[0]!
  expect([smtp, detail]).toEqual([undefined, 'a fault of this service: no leave for the dot'])
})

test('without leave a send begins again while its budget leaves time for it, and is then a fault of ours', async () => {
  const before = await rows()
  const mayMark = await refuseMarkers()
  let mails = 0
  script(world, { mail: () => void mails++ })
  const watch = stopwatch()
  const error = await world
    .sendAlone({ sendBudgetMs: 6_000 })(message(), options())
    .catch((error) => error)
  await mayMark()
  expect(reasonOf(error)).toBe('transient_failure')
  expect(mails).toBeGreaterThan(1)
  // A pause of 250 ms between two tries, in the quarter of the budget that is before the dot.
  expect(mails).toBeLessThanOrEqual(1 + 1_500 / 250)
  // The budget, without the time that a server has after the dot.
  expect(watch.ms()).toBeLessThan(5_000)
  expect(world.exchanger.messages).toEqual([])
  expect(await rows()).toEqual(before)
})

test('a database that takes no writes ends the send at once, which says so: to begin again would not help', async () => {
  const before = await rows()
  const mayMark = await refuseRows(world.db, 'update on', 'open_recipients', '25006')
  let mails = 0
  script(world, { mail: () => void mails++ })
  const error = await world
    .sendAlone()(message(), options())
    .catch((error) => error)
  await mayMark()
  expect(reasonOf(error)).toBe('transient_failure')
  expect(error.rawMessage).toBe('The database takes no writes. Nothing was sent; it is safe to retry.')
  expect(mails).toBe(1)
  expect(await rows()).toEqual(before)
})

test('another fault of ours ends the send at once: to begin again would not help', async () => {
  const before = await rows()
  // Documentation only (RFC 5737): no machine has it.
  const engine = world.engineWith({ sourceAddresses: ['192.0.2.1'] })
  const watch = stopwatch()
  const error = await world
    .sendAlone({ engine })(message(), options())
    .catch((error) => error)
  engine.close()
  expect(reasonOf(error)).toBe('transient_failure')
  // Less than a quarter of the budget of 30 s.
  expect(watch.ms()).toBeLessThan(7_000)
  expect(await rows()).toEqual(before)
})

test('a send that was paused past its lease ends as the sweeper settled it, and no dot is sent', async () => {
  const sweepAway = async () => {
    const isOver = "lease_until = clock_timestamp() - interval '1 second'"
    await run(world.db, `update open_recipients set marked_at = clock_timestamp(), ${isOver}`)
    await run(world.db, `update open_messages set ${isOver}`)
    expect(await sweep(world.db)).toEqual({ settled: 1, released: 0 })
  }
  script(world, { rcpt: () => ({ after: sweepAway(), act: '250 ok' }) })
  expect(await world.send()).toMatchObject({
    status: DeliveryStatus.BOUNCED,
    reason: Reason.CONNECTION_TIMEOUT,
    inDoubt: true,
  })
  expect(world.exchanger.messages).toEqual([])
})

test('a send whose claim was lost with its connection begins again, and is delivered once', async () => {
  const before = await rows()
  await run(
    world.db,
    `create sequence claims;
     create function lose_claim() returns trigger language plpgsql as $$ begin
       if nextval('claims') = 1 then perform pg_terminate_backend(pg_backend_pid()); end if;
       return new;
     end $$;
     create trigger lose_claim before insert on open_messages for each row execute function lose_claim()`,
  )
  const response = await world.send()
  await run(world.db, 'drop function lose_claim cascade; drop sequence claims')
  expect(response.status).toBe(DeliveryStatus.DELIVERED)
  expect(world.exchanger.messages).toHaveLength(1)
  expect((await rows()).open).toEqual(before.open)
})

test('a claim that was stored, whose result was lost, is released before the send begins again', async () => {
  const before = await rows()
  let lost = 0
  const db = aroundStatements(world.db, async (statement, run) => {
    const stored = await run()
    if (!statement.includes('into open_messages') || lost++ > 0) return stored
    throw Object.assign(new Error('lost'), { code: 'CONNECTION_CLOSED' })
  })
  const response = await world.sendAlone({ db })(message(), options())
  expect(lost).toBe(2)
  expect(response.status).toBe(DeliveryStatus.DELIVERED)
  expect(world.exchanger.messages).toHaveLength(1)
  expect(await rows()).toEqual({ ...before, history: before.history.map((count) => count + 1) })
})

test('a message that cannot be claimed is mailed to no recipient', async () => {
  const before = await rows()
  const mayClaim = await refuseRows(world.db, 'insert on', 'open_messages')
  await expect(world.sendAlone()(message(), options())).rejects.toThrow()
  await mayClaim()
  expect(world.exchanger.sessions).toEqual([])
  expect(await rows()).toEqual(before)
})

test('a message that cannot be signed leaves no claim behind', async () => {
  const before = await rows()
  const { publicKey } = generateKeyPairSync('ed25519')
  const senderDomains: SenderDomains = {
    ...createSenderDomains(world),
    async find(...parts) {
      const domain = await createSenderDomains(world).find(...parts)
      return domain && { ...domain, dkimKeys: domain.dkimKeys.map((key) => ({ ...key, key: publicKey })) }
    },
  }
  await expect(world.sendAlone({ senderDomains })(message(), options())).rejects.toThrow()
  expect(world.exchanger.sessions).toEqual([])
  expect(await rows()).toEqual(before)
})
