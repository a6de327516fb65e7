import { beforeEach, expect, test } from 'vitest'
import { DeliveryStatus, Reason, SmtpPhase } from '../../gen/verdict/v1/outcomes_pb.ts'
import type { Engine } from '../../mail/smtp/attempt.ts'
import { eq, inArray } from '../../server/db/drizzle.ts'
import { parsePublicId } from '../../server/db/ids.ts'
import { domains, events, messages, openMessages } from '../../server/db/schema.ts'
import { run } from '../../server/db/statement.ts'
import { createDomain } from '../../server/domains/domains.ts'
import { OutcomeUnknown, reasonOf } from '../../server/errors.ts'
import { storedOutcomes } from '../../server/sending/stored-response.ts'
import { stopwatch } from '../harness/stopwatch.ts'
import { message, script, startSendingWorld } from './world.ts'

const world = await startSendingWorld({
  'MX nullmx.org': [{ type: 'MX', name: 'nullmx.org', ttl: 60, data: { preference: 0, exchange: '.' } }],
  'MX silent.org': 'silence',
  'MX broken.org': 'servfail',
  'MX private.org': [{ type: 'MX', name: 'private.org', ttl: 60, data: { preference: 0, exchange: 'mx.private.org' } }],
  'A mx.private.org': [{ type: 'A', name: 'mx.private.org', ttl: 60, data: '10.0.0.1' }],
  'AAAA mx.private.org': 'nodata',
  'MX other.org': [{ type: 'MX', name: 'other.org', ttl: 60, data: { preference: 10, exchange: 'mx.other.org' } }],
  'A mx.other.org': [{ type: 'A', name: 'mx.other.org', ttl: 60, data: '127.0.0.1' }],
  'AAAA mx.other.org': 'nodata',
})
beforeEach(async () => {
  // The bounces of one test must not suppress the addresses of the next.
  await run(world.db, 'truncate suppressions, refusals')
  world.exchanger.messages.length = 0
  world.exchanger.sessions.length = 0
})

const { options, send } = world

async function stored(messageId: string) {
  const id = parsePublicId('msg', messageId)!
  const [row] = await run(world.db, 'select status, reason, sandbox, size_bytes from messages where id = $1', [id])
  const { status, reason, recipient } = events
  const eventsOfMessage = world.db.select({ status, reason, recipient }).from(events).where(eq(events.messageId, id))
  return {
    message: row && { ...row },
    events: await eventsOfMessage.orderBy(events.id),
    outcomes: await storedOutcomes(world.db, id),
  }
}

async function rows() {
  return { open: await world.db.$count(openMessages), messages: await world.db.$count(messages) }
}

test("delivered: the recipient's server replied 250 to the final dot; the response has its evidence", async () => {
  const response = await send()
  expect(response).toMatchObject({ status: DeliveryStatus.DELIVERED, recipients: [], checks: [] })
  expect(response.reason).toBeUndefined()
  expect(response.smtp).toMatchObject({
    mx: 'mx.example.net',
    ip: '127.0.0.1',
    code: 250,
    enhanced: '2.0.0',
    phase: SmtpPhase.DOT,
  })
  expect(world.exchanger.messages).toHaveLength(1)
  const [mail] = world.exchanger.messages
  expect(mail!.to).toEqual(['ann@example.net'])
  expect(mail!.from).toMatch(/^b\+[0-9a-z]{26}00[0-9a-v]{16}@rp\.example\.test$/)
  expect(mail!.content).toContain(`Message-ID: <${response.messageId}@rp.example.test>`)
  expect(mail!.content).toMatch(/^DKIM-Signature: /)
})

test('every 2xx response of a send has a stored message with the same id, status and reason, and one event', async () => {
  script(world, { rcpt: '550 5.1.1 no such user' })
  const response = await send()
  expect(response).toMatchObject({ status: DeliveryStatus.BOUNCED, reason: Reason.MAILBOX_DOES_NOT_EXIST })
  const { message, events, outcomes } = await stored(response.messageId)
  expect(message).toMatchObject({ status: 'bounced', reason: 'mailbox_does_not_exist', sandbox: false })
  expect(events).toEqual([{ status: 'bounced', reason: 'mailbox_does_not_exist', recipient: 'ann@example.net' }])
  expect(outcomes[0]!.smtp).toEqual(response.smtp)
})

test('a send takes its slots for look-ups and at a site from those of its own account', async () => {
  const accounts: unknown[] = []
  const engine: Engine = {
    ...world.engine,
    lookUp(domain, asker) {
      accounts.push(asker?.accountId)
      return world.engine.lookUp(domain, asker)
    },
    deliver(delivery) {
      accounts.push(delivery.accountId)
      return world.engine.deliver(delivery)
    },
  }
  await world.sendAlone({ engine })(message(), options())
  expect(accounts).toEqual([world.account.id, world.account.id])
})

test('a send gives its turn back before SMTP', async () => {
  const order: string[] = []
  script(world, { mail: () => void order.push('MAIL') })
  await send({}, { endWork: () => void order.push('turn over') })
  expect(order).toEqual(['turn over', 'MAIL'])
})

test('temporary_failure alone is retryable', async () => {
  script(world, { rcpt: '451 4.7.1 greylisted' })
  expect(await send()).toMatchObject({ reason: Reason.TEMPORARY_FAILURE, retryable: true })
  script(world, { rcpt: '550 5.7.1 blocked' })
  const blocked = await send()
  expect([blocked.reason, blocked.retryable]).toEqual([Reason.POLICY_BLOCK, undefined])
})

test('each recipient is decided on its own; the message has the worst status and the first such reason', async () => {
  script(world, { rcpt: (line) => (line.includes('bob@') ? '452 4.2.2 over quota' : undefined) })
  const response = await send({
    to: ['ann@example.net', 'invalid_address@simulator.test', 'bob@example.net', 'zoe@other.org'],
  })
  expect(response).toMatchObject({ status: DeliveryStatus.BOUNCED, reason: Reason.MAILBOX_FULL })
  expect(response.smtp).toBeUndefined()
  expect(response.recipients.map(({ email, status, reason }) => [email, status, reason])).toEqual([
    ['ann@example.net', DeliveryStatus.DELIVERED, undefined],
    ['invalid_address@simulator.test', DeliveryStatus.REJECTED, Reason.INVALID_ADDRESS],
    ['bob@example.net', DeliveryStatus.BOUNCED, Reason.MAILBOX_FULL],
    ['zoe@other.org', DeliveryStatus.DELIVERED, undefined],
  ])
  expect((await stored(response.messageId)).events).toHaveLength(4)
  // One transaction for each domain, concurrently.
  expect(world.exchanger.messages.map((mail) => mail.to).sort()).toEqual([['ann@example.net'], ['zoe@other.org']])
})

test('403 domain_not_verified: the From domain is not a domain of the account', async () => {
  const before = await rows()
  const error = await send({ from: 'a@elsewhere.test' }).catch((error) => error)
  expect(reasonOf(error)).toBe('domain_not_verified')
  expect(await rows()).toEqual(before)
})

test.each(['pending', 'failed', 'lapsed'] as const)(
  'rejected/domain_not_verified: the domain is in the account but %s; zero SMTP bytes',
  async (status) => {
    const name = `${status}.test`
    const { db, sealer, clock, account } = world
    await createDomain({ db, sealer, clock }, { accountId: account.id, name, status: 'pending' })
    await db.update(domains).set({ status }).where(eq(domains.name, name))
    const response = await send({ from: `a@${name}` })
    expect(response).toMatchObject({
      status: DeliveryStatus.REJECTED,
      reason: Reason.DOMAIN_NOT_VERIFIED,
    })
    expect(world.exchanger.sessions).toHaveLength(0)
    expect((await stored(response.messageId)).events).toHaveLength(1)
  },
)

test.each([
  ['a special-use top-level domain', 'ann@printer.local'],
  ['a null MX', 'ann@nullmx.org'],
  ['exchangers that are all private', 'ann@private.org'],
])('rejected/invalid_address: %s; zero SMTP bytes', async (_, to) => {
  expect(await send({ to: [to] })).toMatchObject({ status: DeliveryStatus.REJECTED, reason: Reason.INVALID_ADDRESS })
  expect(world.exchanger.sessions).toHaveLength(0)
})

test('bounced/no_mx_record: the domain does not exist', async () => {
  const response = await send({ to: ['ann@nowhere.org'] })
  expect(response).toMatchObject({ status: DeliveryStatus.BOUNCED, reason: Reason.NO_MX_RECORD })
  expect(response.smtp?.phase).toBe(SmtpPhase.DNS)
})

test.each(['broken.org'])(
  'a failing resolver (%s) is our fault: 500 transient_failure, nothing is sent to any recipient or stored',
  async (domain) => {
    const before = await rows()
    const error = await send({ to: ['ann@example.net', `bob@${domain}`] }).catch((error) => error)
    expect(reasonOf(error)).toBe('transient_failure')
    expect(world.exchanger.sessions).toHaveLength(0)
    expect(await rows()).toEqual(before)
  },
)

test('in doubt: the reply to the final dot was lost; bounced/connection_timeout, never sent again', async () => {
  script(world, { dot: 'close' })
  const response = await send()
  expect(response).toMatchObject({ status: DeliveryStatus.BOUNCED, reason: Reason.CONNECTION_TIMEOUT, inDoubt: true })
  expect(response.smtp?.phase).toBe(SmtpPhase.AFTER_DOT)
  expect(world.exchanger.messages).toHaveLength(1)
})

test('an unexpected fault after a marker is OutcomeUnknown; before a marker the claim is released', async () => {
  const before = await rows()
  const failing = (positions: number[]) =>
    world.sendAlone({
      engine: {
        ...world.engine,
        async deliver({ beforeDot }) {
          if (positions.length > 0) await beforeDot(positions, [])
          throw new Error('unexpected')
        },
      },
    })
  await expect(failing([])(message(), options())).rejects.toThrow('unexpected')
  expect(await rows()).toEqual(before)
  await expect(failing([0])(message(), options())).rejects.toBeInstanceOf(OutcomeUnknown)
  expect(await rows()).toEqual({ ...before, open: before.open + 1 })
  await run(world.db, 'truncate open_messages, open_recipients')
})

test('a dry run opens no SMTP connection, lists its checks and has the status of a real send', async () => {
  const response = await send({}, { sandbox: true })
  expect(response).toMatchObject({ status: DeliveryStatus.DELIVERED, sandbox: true })
  expect(response.checks.map(({ name, passed }) => `${name} ${passed}`)).toEqual([
    'payload true',
    'domain true',
    'warm_up true',
    'quota true',
    'breaker true',
    'address true',
    'suppression true',
    'recipient_mx true',
  ])
  expect(world.exchanger.sessions).toHaveLength(0)
  expect((await stored(response.messageId)).message).toMatchObject({ status: 'delivered', sandbox: true })
})

test.each<[string, string, { inBatch?: boolean }]>([
  ['pending.test', 'pending.test is pending. Publish its DNS records and verify it', {}],
  // A single send is refused as a whole.
  [
    'elsewhere.test',
    'elsewhere.test is not a domain of this account. Add it with POST /api/v1/domains, or send from another',
    { inBatch: true },
  ],
])('a dry run stops at the check that decides, and says the way out: %s', async (domain, detail, more) => {
  const response = await send({ from: `a@${domain}` }, { sandbox: true, ...more })
  expect(response).toMatchObject({ status: DeliveryStatus.REJECTED, reason: Reason.DOMAIN_NOT_VERIFIED })
  expect(response.checks.at(-1)).toMatchObject({ name: 'domain', passed: false, detail })
})

const SIMULATED: [local: string, status: DeliveryStatus, reason?: Reason][] = [
  ['delivered', DeliveryStatus.DELIVERED],
  ['mailbox_full', DeliveryStatus.BOUNCED, Reason.MAILBOX_FULL],
  ['mailbox_does_not_exist', DeliveryStatus.BOUNCED, Reason.MAILBOX_DOES_NOT_EXIST],
  ['nobody-knows-this', DeliveryStatus.BOUNCED, Reason.MAILBOX_DOES_NOT_EXIST],
  ['no_mx_record', DeliveryStatus.BOUNCED, Reason.NO_MX_RECORD],
  ['policy_block', DeliveryStatus.BOUNCED, Reason.POLICY_BLOCK],
  ['spam_blocked', DeliveryStatus.BOUNCED, Reason.SPAM_BLOCKED],
  ['temporary_failure', DeliveryStatus.BOUNCED, Reason.TEMPORARY_FAILURE],
  ['suppression_list', DeliveryStatus.REJECTED, Reason.SUPPRESSION_LIST],
  ['invalid_address', DeliveryStatus.REJECTED, Reason.INVALID_ADDRESS],
]

test.each(SIMULATED)(
  'simulator: %s@ gives the outcome of its name, through the real engine and in a dry run',
  async (local, status, reason) => {
    const to = [`${local}+order-7@simulator.test`]
    const watch = stopwatch()
    const real = await send({ to })
    expect([real.status, real.reason]).toEqual([status, reason])
    // The simulator's promise: the longest of its silences ends within 3 s.
    expect(watch.ms()).toBeLessThan(3_000)
    const dryRun = await send({ to }, { sandbox: true })
    expect([dryRun.status, dryRun.reason, dryRun.sandbox]).toEqual([status, reason, true])
  },
)

test('bodies are stored only when the operator stores content', async () => {
  const without = await send()
  const kept = await world.sendAlone({ storeContent: true })(message({ html: '<p>Hi</p>' }), options())
  const ids = [without, kept].map(({ messageId }) => parsePublicId('msg', messageId)!)
  const requests = await world.db.select().from(messages).where(inArray(messages.id, ids)).orderBy(messages.id)
  expect(requests.map(({ request }) => [request.text, request.html])).toEqual([
    [undefined, undefined],
    ['Hi Ann', '<p>Hi</p>'],
  ])
})
