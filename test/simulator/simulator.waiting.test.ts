import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { expect, test } from 'vitest'
import { type Address, parseAddress } from '../../mail/address.ts'
import { createResolver } from '../../mail/dns/resolver.ts'
import type { Site, SmtpAttempt } from '../../mail/smtp/attempt.ts'
import { createEngine } from '../../mail/smtp/engine.ts'
import { createSimulator } from '../../server/simulator/simulator.ts'
import { stopwatch } from '../harness/stopwatch.ts'
import { untilEnd } from '../harness/until-end.ts'

const engine = untilEnd(
  createEngine({
    resolver: createResolver({ servers: ['127.0.0.1:9'] }),
    mayDial: () => false,
    smtpPort: 25,
    routes: new Map(),
    heloName: 'tests.example',
  }),
)

const simulator = untilEnd(createSimulator())
const port = (await simulator.listen()).port

const address = (text: string): Address => parseAddress(text)!
const content = [Buffer.from('From: a@example.test\r\n\r\n.dots and words\r\n')]

async function deliver(...to: string[]): Promise<SmtpAttempt[]> {
  const recipients = to.map((text) => {
    const route = simulator.route(address(text))!.route
    return { address: text, site: (route as { site: Site }).site }
  })
  const startedAtMs = performance.now()
  const beforeDot = async () => true
  const senderFor = () => 'b@rp.example.test'
  return engine.deliver({ senderFor, recipients, content, startedAtMs, budgetMs: 30_000, beforeDot })
}

test('the simulator ignores addresses of other domains', () => {
  expect(simulator.route(address('delivered@example.com'))).toBeUndefined()
  expect(simulator.route(address('delivered@sub.simulator.test'))).toBeUndefined()
})

test.each([
  ['delivered', 'delivered', undefined],
  ['mailbox_full', 'bounced', 'mailbox_full'],
  ['mailbox_does_not_exist', 'bounced', 'mailbox_does_not_exist'],
  ['no_mx_record', 'bounced', 'no_mx_record'],
  ['connection_timeout', 'bounced', 'connection_timeout'],
  ['policy_block', 'bounced', 'policy_block'],
  ['spam_blocked', 'bounced', 'spam_blocked'],
  ['temporary_failure', 'bounced', 'temporary_failure'],
  ['suppression_list', 'rejected', 'suppression_list'],
  ['invalid_address', 'rejected', 'invalid_address'],
  ['somebody', 'bounced', 'mailbox_does_not_exist'],
  ['constructor', 'bounced', 'mailbox_does_not_exist'],
  ['DELIVERED+a.label', 'delivered', undefined],
  ['Mailbox_Full+x+y', 'bounced', 'mailbox_full'],
])('a dry run to %s@ answers %s %s', (local, status, reason) => {
  expect(simulator.route(address(`${local}@simulator.test`))!.outcome).toEqual(reason ? { status, reason } : { status })
})

test.each(['suppression_list', 'invalid_address', 'no_mx_record'])('%s@ never reaches the mail server', (name) => {
  expect(simulator.route(address(`${name}@simulator.test`))!.route.kind).toBe(name)
})

test.each([
  ['delivered', 'dot', 250, { kind: 'delivered' }],
  ['delivered+label', 'dot', 250, { kind: 'delivered' }],
  ['mailbox_full', 'rcpt', 452, { kind: 'bounced', reason: 'mailbox_full', retryable: false }],
  ['mailbox_does_not_exist', 'rcpt', 550, { kind: 'bounced', reason: 'mailbox_does_not_exist', retryable: false }],
  ['nobody.we.know', 'rcpt', 550, { kind: 'bounced', reason: 'mailbox_does_not_exist', retryable: false }],
  ['policy_block', 'rcpt', 554, { kind: 'bounced', reason: 'policy_block', retryable: false }],
  ['spam_blocked', 'dot', 554, { kind: 'bounced', reason: 'spam_blocked', retryable: false }],
  ['temporary_failure', 'rcpt', 451, { kind: 'bounced', reason: 'temporary_failure', retryable: true }],
])('%s@ answers the %s with %i through the engine', async (local, phase, code, outcome) => {
  const [attempt] = await deliver(`${local}@simulator.test`)
  expect(attempt).toMatchObject({ phase, reply: { code }, outcome, mx: 'mx.simulator.test', ip: '127.0.0.1' })
})

test('a hundred concurrent silences end as soon as one does: none waits for a connection', async () => {
  const watch = stopwatch()
  const all = await Promise.all(Array.from({ length: 100 }, () => deliver('connection_timeout@simulator.test')))
  expect(all.flat().filter(({ outcome }) => outcome.kind !== 'bounced')).toEqual([])
  // Two rounds would take 4 s.
  expect(watch.ms()).toBeLessThan(3_900)
})

test('a send to connection_timeout@ meets silence and ends within 3 s', async () => {
  const watch = stopwatch()
  const [attempt] = await deliver('connection_timeout@simulator.test')
  expect(attempt!.outcome).toMatchObject({ kind: 'bounced', reason: 'connection_timeout' })
  expect(attempt!.reply).toBeUndefined()
  // The promised time.
  expect(watch.ms()).toBeLessThan(3_000)
})

test('each recipient of one message gets the outcome of its name', async () => {
  const names = ['delivered', 'spam_blocked', 'mailbox_full', 'connection_timeout', 'delivered+2']
  const attempts = await deliver(...names.map((name) => `${name}@simulator.test`))
  expect(attempts.map(({ outcome }) => ('reason' in outcome ? outcome.reason : outcome.kind))).toEqual([
    'delivered',
    'spam_blocked',
    'mailbox_full',
    'connection_timeout',
    'delivered',
  ])
})

test('the mail server offers PIPELINING and relays nothing', async () => {
  const client = await dial()
  expect(await client.say('EHLO tests.example')).toMatch(/250[ -]PIPELINING/)
  expect(await client.say('MAIL FROM:<a@example.test>')).toMatch(/^250/)
  expect(await client.say('RCPT TO:<delivered@example.com>')).toMatch(/^550 5\.7\.1/)
  client.socket.destroy()
})

test('two hundred concurrent connections are all served, and those that hang up do no harm', async () => {
  const clients = await Promise.all(Array.from({ length: 200 }, dial))
  for (const client of clients.slice(0, 100)) client.socket.resetAndDestroy()
  const answers = await Promise.all(clients.slice(100).map((client) => client.say('EHLO tests.example')))
  for (const answer of answers) expect(answer).toMatch(/^250/)
  for (const client of clients) client.socket.destroy()
})

test('closing does not wait for clients that stay connected', async () => {
  const other = createSimulator()
  const { port } = await other.listen()
  const socket = connect(port, '127.0.0.1')
  await once(socket, 'data')
  const watch = stopwatch()
  await other.close()
  // A client that stays would hold it up for ever.
  expect(watch.ms()).toBeLessThan(1000)
  socket.destroy()
})

async function dial(): Promise<{ socket: Socket; say(line: string): Promise<string> }> {
  const socket = connect(port, '127.0.0.1')
  await once(socket, 'data')
  const say = async (line: string) => {
    socket.write(`${line}\r\n`)
    let answer = ''
    while (!/^\d{3} .*\r\n$/m.test(answer)) answer += (await once(socket, 'data'))[0]
    return answer
  }
  return { socket, say }
}
