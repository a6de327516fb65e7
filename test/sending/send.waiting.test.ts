import { beforeEach, expect, test } from 'vitest'
import { DeliveryStatus, Reason } from '../../gen/verdict/v1/outcomes_pb.ts'
import type { Engine } from '../../mail/smtp/attempt.ts'
import { messages, openMessages } from '../../server/db/schema.ts'
import { run } from '../../server/db/statement.ts'
import { reasonOf } from '../../server/errors.ts'
import { mx } from '../harness/dns.ts'
import { eventually } from '../harness/eventually.ts'
import { stopwatch } from '../harness/stopwatch.ts'
import { message, script, startSendingWorld } from './world.ts'

const world = await startSendingWorld({
  'MX silent.org': 'silence',
  'MX same-site.org': [mx('same-site.org', 10, 'mx.example.net')],
})
beforeEach(async () => {
  // The bounces of one test must not suppress the addresses of the next.
  await run(world.db, 'truncate suppressions, refusals')
  world.exchanger.messages.length = 0
  world.exchanger.sessions.length = 0
})

const { options, send } = world

async function rows() {
  return { open: await world.db.$count(openMessages), messages: await world.db.$count(messages) }
}

test.each(['silent.org'])(
  'a failing resolver (%s) is our fault: 500 transient_failure, nothing is sent to any recipient or stored',
  async (domain) => {
    const before = await rows()
    const error = await send({ to: ['ann@example.net', `bob@${domain}`] }).catch((error) => error)
    expect(reasonOf(error)).toBe('transient_failure')
    expect(world.exchanger.sessions).toHaveLength(0)
    expect(await rows()).toEqual(before)
  },
)

test('no free connection in time is our fault: 500 transient_failure, and the released claim leaves no trace', async () => {
  const engine = world.engineWith({ limits: { dotShareAtMost: 0.5 } })
  const patient = world.sendAlone({ engine, sendBudgetMs: 8_000 })
  const impatient = world.sendAlone({ engine, sendBudgetMs: 100 })
  script(world, { rcpt: 'stall' })
  const before = await rows()
  // The default limit of connections to one site, each held by a server that does not answer.
  const stalled = Array.from({ length: 20 }, () => patient(message(), options()))
  await eventually(() => expect(world.exchanger.sessions).toHaveLength(20))
  const error = await impatient(message(), options()).catch((error) => error)
  expect(reasonOf(error)).toBe('transient_failure')
  const settled = await Promise.all(stalled)
  expect(settled.map(({ reason }) => reason)).toEqual(settled.map(() => Reason.CONNECTION_TIMEOUT))
  expect(await rows()).toEqual({ open: 0, messages: before.messages + 20 })
  engine.close()
})

test('a domain that finds no free connection in time is retryable when another one of its site has a marker', async () => {
  const engine = world.engineWith({ limits: { dotShareAtMost: 0.5 } })
  const narrow: Engine = {
    ...engine,
    async lookUp(...asked) {
      const lookup = await engine.lookUp(...asked)
      return lookup.kind === 'site'
        ? { kind: 'site', site: { ...lookup.site, limits: { connections: 1, messages: 100 } } }
        : lookup
    },
  }
  script(world, { dot: { after: 4_500, act: '250 2.0.0 queued' } })
  const send = world.sendAlone({ engine: narrow, sendBudgetMs: 8_000 })
  const response = await send(message({ to: ['ann@example.net', 'bob@same-site.org'] }), options())
  expect(response.recipients).toMatchObject([
    { email: 'ann@example.net', status: DeliveryStatus.DELIVERED },
    {
      email: 'bob@same-site.org',
      status: DeliveryStatus.BOUNCED,
      reason: Reason.TEMPORARY_FAILURE,
      retryable: true,
    },
  ])
  engine.close()
})

test('a caller that leaves while DNS is silent has left at once, and nothing stays of the send', async () => {
  const before = await rows()
  const caller = new AbortController()
  const watch = stopwatch()
  const sending = send({ to: ['bob@silent.org'] }, { signal: caller.signal })
  setImmediate(() => caller.abort(new Error('left')))
  expect(reasonOf(await sending.catch((error) => error))).toBe('transient_failure')
  // A silent server is asked for 4 s and more.
  expect(watch.ms()).toBeLessThan(2_000)
  expect(await rows()).toEqual(before)
})

test('a caller that leaves before the marker stops the send; one that leaves after it does not', async () => {
  const before = await rows()
  script(world, { data: { after: 150, act: '354 go ahead' } })
  const early = new AbortController()
  setTimeout(() => early.abort(new Error('left')), 50)
  const error = await send({}, { signal: early.signal }).catch((error) => error)
  expect(reasonOf(error)).toBe('transient_failure')
  expect(world.exchanger.messages).toHaveLength(0)
  expect(await rows()).toEqual(before)

  const late = new AbortController()
  const dot = () => {
    late.abort(new Error('left'))
    return { after: 800, act: '250 2.0.0 queued' }
  }
  script(world, { dot })
  expect(await send({}, { signal: late.signal })).toMatchObject({ status: DeliveryStatus.DELIVERED })
})

test('simulator: connection_timeout@ gives the outcome of its name, through the real engine and in a dry run', async () => {
  const to = ['connection_timeout+order-7@simulator.test']
  const timeout = [DeliveryStatus.BOUNCED, Reason.CONNECTION_TIMEOUT]
  const watch = stopwatch()
  const real = await send({ to })
  expect([real.status, real.reason]).toEqual(timeout)
  // The simulator's promise: its silence ends within 3 s.
  expect(watch.ms()).toBeLessThan(3_000)
  const dryRun = await send({ to }, { sandbox: true })
  expect([dryRun.status, dryRun.reason, dryRun.sandbox]).toEqual([...timeout, true])
})

const BUSY_CONNECTIONS = `
  select count(*)::int from pg_stat_activity
  where datname = current_database() and backend_type = 'client backend' and state <> 'idle'
    and pid <> pg_backend_pid()`

test('no database connection is held while SMTP runs', async () => {
  let dots = 0
  script(world, {
    dot: () => {
      dots++
      return { after: 3_000, act: '250 2.0.0 queued' }
    },
  })
  const sends = Array.from({ length: 15 }, () => send())
  await eventually(() => expect(dots).toBe(15))
  const select = run(world.db, 'select 1').then(() => 'the database')
  expect(await Promise.race([select, ...sends.map((sent) => sent.then(() => 'a mail server'))])).toBe('the database')
  const [row] = await run<{ count: number }>(world.db, BUSY_CONNECTIONS)
  expect(row!.count).toBe(0)
  await Promise.all(sends)
})
