import { once } from 'node:events'
import { connect } from 'node:net'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseAddress } from '../../mail/address.ts'
import { createResolver } from '../../mail/dns/resolver.ts'
import type { Site } from '../../mail/smtp/attempt.ts'
import { createEngine } from '../../mail/smtp/engine.ts'
import { newId } from '../../server/db/ids.ts'
import { Inbox } from '../../server/simulator/inbox.ts'
import { createSimulator } from '../../server/simulator/simulator.ts'
import { eventually } from '../harness/eventually.ts'
import { untilEnd } from '../harness/until-end.ts'

/** Return paths of these tests name their message: `m1@rp.test`. Others are strange. */
const inboxOf = (bounds?: { messages: number; bytes: number }) =>
  new Inbox({
    messageIdOf: (returnPath) => /^(m\d+)@rp\.test$/.exec(returnPath)?.[1],
    newId: () => newId(Date.now()),
    bounds,
  })

function keep(inbox: Inbox, returnPath: string, bytes: number): void {
  const arrival = inbox.begin({ returnPath, recipients: ['delivered@simulator.test'] })!
  arrival.add(Buffer.alloc(bytes))
  arrival.keep()
}

const kept = (inbox: Inbox) => inbox.messages().map(({ messageId }) => messageId)
const bytesOf = (inbox: Inbox) => inbox.messages().reduce((sum, { source }) => sum + source.length, 0)

async function start(inbox: Inbox) {
  const simulator = untilEnd(createSimulator({ inbox }))
  const { port } = await simulator.listen()
  const engine = untilEnd(
    createEngine({
      resolver: createResolver({ servers: ['127.0.0.1:9'] }),
      mayDial: () => false,
      smtpPort: 25,
      routes: new Map(),
      heloName: 'tests.example',
    }),
  )
  const deliver = (sender: string, to: string[], content = 'From: a@example.test\r\n\r\n.dots and words\r\n') =>
    engine.deliver({
      senderFor: () => sender,
      recipients: to.map((address) => ({
        address,
        site: (simulator.route(parseAddress(address)!)!.route as { site: Site }).site,
      })),
      content: [Buffer.from(content)],
      startedAtMs: performance.now(),
      budgetMs: 30_000,
      beforeDot: async () => true,
    })
  return { deliver, port }
}

test('the inbox keeps what the simulator accepted, octet for octet, with the recipients of the transaction', async () => {
  const inbox = inboxOf()
  const { deliver } = await start(inbox)
  await deliver('m1@rp.test', ['delivered+1@simulator.test', 'mailbox_full@simulator.test', 'DELIVERED@simulator.test'])
  await deliver('m2@rp.test', ['delivered@simulator.test'])
  expect(kept(inbox)).toEqual(['m2', 'm1'])
  const [, first] = inbox.messages()
  expect(first!.recipients).toEqual(['delivered+1@simulator.test', 'DELIVERED@simulator.test'])
  expect(first!.source.toString()).toBe('From: a@example.test\r\n\r\n.dots and words\r\n')
})

test('the inbox keeps nothing that the simulator refused', async () => {
  const inbox = inboxOf()
  const { deliver } = await start(inbox)
  await deliver('m1@rp.test', ['spam_blocked@simulator.test', 'policy_block@simulator.test'])
  expect(kept(inbox)).toEqual([])
})

test('the simulator accepts mail of other programs on this machine, and the inbox does not keep it', async () => {
  const inbox = inboxOf()
  const { deliver } = await start(inbox)
  const [attempt] = await deliver('stranger@example.com', ['delivered@simulator.test'])
  expect(attempt!.outcome.kind).toBe('delivered')
  expect(kept(inbox)).toEqual([])
})

test('a message whose sender hangs up before the dot leaves nothing behind', async () => {
  const inbox = inboxOf({ messages: 10, bytes: 1_000 })
  const { port } = await start(inbox)
  keep(inbox, 'm1@rp.test', 500)
  const socket = connect(port, '127.0.0.1')
  for (const line of ['EHLO x', 'MAIL FROM:<m2@rp.test>', 'RCPT TO:<delivered@simulator.test>', 'DATA']) {
    await once(socket, 'data')
    socket.write(`${line}\r\n`)
  }
  await once(socket, 'data')
  socket.write(`${'x'.repeat(700)}\r\n`)
  // What arrives takes its room at once.
  await eventually(() => expect(kept(inbox)).toEqual([]))
  socket.destroy()
  await eventually(() => {
    keep(inbox, 'm3@rp.test', 1_000)
    expect(kept(inbox)).toEqual(['m3'])
  })
})

test('the oldest messages go first, by number and by bytes', () => {
  const byNumber = inboxOf({ messages: 2, bytes: 1_000 })
  for (const name of ['m1', 'm2', 'm3']) keep(byNumber, `${name}@rp.test`, 1)
  expect(kept(byNumber)).toEqual(['m3', 'm2'])

  const byBytes = inboxOf({ messages: 10, bytes: 1_000 })
  for (const [name, bytes] of [
    ['m1', 400],
    ['m2', 400],
    ['m3', 500],
  ] as const) {
    keep(byBytes, `${name}@rp.test`, bytes)
  }
  expect(kept(byBytes)).toEqual(['m3', 'm2'])
})

test('a message over the bounds is not kept, and what comes after it is', () => {
  const inbox = inboxOf({ messages: 10, bytes: 1_000 })
  keep(inbox, 'm1@rp.test', 1_001)
  expect(kept(inbox)).toEqual([])
  keep(inbox, 'm2@rp.test', 1_000)
  expect(kept(inbox)).toEqual(['m2'])
})

test('by default the inbox holds 500 messages and 64 MiB', () => {
  const inbox = inboxOf()
  for (let i = 0; i < 501; i++) keep(inbox, `m${i}@rp.test`, 1)
  expect(inbox.messages()).toHaveLength(500)
  for (let i = 0; i < 8; i++) keep(inbox, `m${i}@rp.test`, 10 * 2 ** 20)
  expect(kept(inbox)).toEqual(['m7', 'm6', 'm5', 'm4', 'm3', 'm2'])
})

test('deleted messages make room', () => {
  const inbox = inboxOf({ messages: 10, bytes: 1_000 })
  keep(inbox, 'm1@rp.test', 600)
  keep(inbox, 'm2@rp.test', 400)
  inbox.delete([inbox.messages()[1]!.id, 'unknown'])
  keep(inbox, 'm3@rp.test', 600)
  expect(kept(inbox)).toEqual(['m3', 'm2'])
})

test('whatever arrives, stays away half way or is deleted, the bounds hold and the newest message fits', () => {
  const step = fc.oneof(
    fc.record({ kind: fc.constant('keep' as const), bytes: fc.integer({ min: 1, max: 120 }) }),
    fc.record({ kind: fc.constant('drop' as const), bytes: fc.nat(120) }),
    fc.record({ kind: fc.constant('delete' as const), bytes: fc.nat(5) }),
  )
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const inbox = inboxOf({ messages: 5, bytes: 100 })
      for (const { kind, bytes } of steps) {
        if (kind === 'delete')
          inbox.delete(
            inbox
              .messages()
              .slice(0, bytes)
              .map(({ id }) => id),
          )
        else {
          const arrival = inbox.begin({ returnPath: 'm1@rp.test', recipients: [] })!
          for (let left = bytes; left > 0; left -= 30) arrival.add(Buffer.alloc(Math.min(30, left)))
          if (kind === 'keep') arrival.keep()
          arrival.drop()
          if (kind === 'keep' && bytes <= 100) expect(inbox.messages()[0]!.source).toHaveLength(bytes)
        }
        expect(inbox.messages().length).toBeLessThanOrEqual(5)
        expect(bytesOf(inbox)).toBeLessThanOrEqual(100)
      }
      // Nothing that is gone still takes room.
      keep(inbox, 'm2@rp.test', 100)
      expect(kept(inbox)).toEqual(['m2'])
    }),
  )
})
