import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseAddress } from '../../mail/address.ts'
import type { Engine } from '../../mail/smtp/attempt.ts'
import { run as query } from '../../server/db/statement.ts'
import { type KnownRecipient, KnownRecipients } from '../../server/smtp-front/known-recipients.ts'
import { CERTIFICATE } from '../harness/certificates.ts'
import { eventually } from '../harness/eventually.ts'
import { startApi } from '../services/api.ts'
import { connectClient, stuffed } from './client.ts'
import { startFrontWorld } from './world.ts'

// Most programs make a new Message-ID when they send again, or have none: after a lost connection, and after a 451.

const { api, listenWith } = await startFrontWorld({ tls: CERTIFICATE, maxRecipients: 100 })
const { exchanger, db, account } = api.world
const doors = { clear: await listenWith(), tls: await listenWith({ implicitTls: true }) }

interface Case {
  /** What the client does when it has sent its dot. In clear text it reads on after `end`. */
  leaves: ['clear' | 'tls', 'end' | 'destroy' | 'reset']
  messageIds: 'new' | 'none'
  recipients: number
  /** When the client leaves and comes back: right after its dot, while the recipients' server thinks, or later. */
  moment: 'at once' | 'early' | 'late'
}

const cases: fc.Arbitrary<Case> = fc.record({
  leaves: fc.constantFrom<Case['leaves'][]>(
    ['clear', 'reset'],
    ['clear', 'destroy'],
    ['tls', 'end'],
    ['tls', 'destroy'],
  ),
  messageIds: fc.constantFrom('new' as const, 'none' as const),
  recipients: fc.constantFrom(1, 3),
  moment: fc.constantFrom('at once', 'early', 'late'),
})

let count = 0

async function begin(
  { leaves: [door], messageIds }: Case,
  run: number,
  to: readonly string[],
  port = doors[door].port,
) {
  const client = await connectClient(port, { secure: door === 'tls' })
  await client.logIn(api.keys.live)
  for (const line of ['MAIL FROM:<hello@example.test>', ...to.map((one) => `RCPT TO:<${one}>`), 'DATA']) {
    expect(await client.ask(line)).toMatch(/^[23]/)
  }
  const id = messageIds === 'new' ? `Message-ID: <${++count}@client.test>\r\n` : ''
  client.write(stuffed(`From: hello@example.test\r\nSubject: Order ${run}\r\n${id}\r\nHi\r\n`))
  return client
}

async function ask(one: Case, run: number, to: readonly string[]): Promise<string> {
  const client = await begin(one, run, to)
  const reply = await client.reply()
  client.end()
  return reply
}

test('a client that leaves before its answer, and sends the same content once more, mails no recipient twice', async () => {
  await fc.assert(
    fc.asyncProperty(cases, async (one) => {
      const run = ++count
      const to = Array.from({ length: one.recipients }, (_, i) => `r${i}.${run}@example.net`)
      const arrived = () => exchanger.messages.filter(({ to: its }) => its.some((address) => to.includes(address)))
      const { promise: isReleased, resolve: release } = Promise.withResolvers<void>()
      exchanger.script = { dot: () => ({ after: isReleased, act: '250 2.0.0 queued' }) }
      const client = await begin(one, run, to)
      const arrives = () => eventually(() => expect(arrived().flatMap((message) => message.to)).toHaveLength(to.length))
      if (one.moment !== 'at once') await arrives()
      client[one.leaves[1]]()
      if (one.moment === 'late') release()
      const again = await begin(one, run, to)
      await arrives()
      release()
      expect(await again.reply(), JSON.stringify(one)).toMatch(/^250 2\.0\.0 msg_[^:]*: already delivered: queued/)
      again.end()
      expect(
        arrived()
          .flatMap((message) => message.to)
          .toSorted(),
      ).toEqual(to.toSorted())
      // One lost answer is a reason to hold one message back.
      expect(await ask(one, run, to)).toMatch(/^250 2\.0\.0 msg_[^:]*: queued/)
      expect(arrived().flatMap((message) => message.to)).toHaveLength(2 * to.length)
    }),
    // Over 50 recipients are two messages.
    { numRuns: 30, examples: [[{ leaves: ['tls', 'end'], messageIds: 'new', recipients: 51, moment: 'early' }]] },
  )
})

test.each(['new', 'none'] as const)(
  'greylisting that compares envelope senders lets a repeat pass (Message-ID: %s), and an equal message after it is a new one',
  async (messageIds) => {
    const one: Case = { leaves: ['clear', 'reset'], messageIds, recipients: 1, moment: 'late' }
    const [run, seen] = [++count, new Set<string>()]
    let sender = ''
    exchanger.script = {
      mail: (line) => {
        sender = line
        return undefined
      },
      rcpt: () => (seen.has(sender) ? '250 2.1.5 ok' : seen.add(sender) && '451 4.7.1 greylisted'),
    }
    const to = [`ann.${run}@example.net`]
    const replies = [await ask(one, run, to), await ask(one, run, to), await ask(one, run, to)]
    expect(replies.map((reply) => reply.slice(0, 3))).toEqual(['451', '250', '451'])
    expect(exchanger.messages.filter((message) => message.to.includes(to[0]!))).toHaveLength(1)
    const ids = replies.map((reply) => /msg_\w{26}/.exec(reply)![0])
    const retryOf = async (id: string) => (await api.call('GET', `/api/v1/emails/${id}`)).json.retry_of
    expect(await Promise.all(ids.map(retryOf))).toEqual([undefined, ids[0], undefined])
  },
)

const LEFT: Case = { leaves: ['tls', 'destroy'], messageIds: 'none', recipients: 1, moment: 'early' }

/**
 * A message whose client leaves while the recipients' server thinks. `release` lets that server answer. `key` is that
 * of the content, the only one without a Message-ID.
 */
async function leaveEarly(run: number, to: readonly string[]) {
  const { promise: isReleased, resolve: release } = Promise.withResolvers<void>()
  exchanger.script = { dot: () => ({ after: isReleased, act: '250 2.0.0 queued' }) }
  await query(db, 'delete from recipient_keys')
  const client = await begin(LEFT, run, to)
  await eventually(() => expect(exchanger.messages).toHaveLength(1))
  client.destroy()
  const key = await eventually(async () => {
    const keys = await query<{ key: string }>(db, `select encode(key, 'hex') as key from recipient_keys`)
    expect(keys).toHaveLength(1)
    return keys[0]!.key
  })
  return { release, key }
}

test('a repeat that waits while a later one is answered sends nothing, and holds no equal message back', async () => {
  const run = ++count
  const to = [`ann.${run}@example.net`]
  const { release, key } = await leaveEarly(run, to)
  const known = new KnownRecipients(db)
  const waiting: KnownRecipient = { address: parseAddress(to[0]!)!, keys: { ofContent: key } }
  const findDue = () => {
    return known.findDue([waiting], { accountId: account.id, sandbox: false, fromDomain: 'example.test' })
  }
  expect(await findDue()).toEqual([])
  expect(waiting.result).toBeUndefined()

  release()
  expect(await ask(LEFT, run, to)).toMatch(/^250 2\.0\.0 msg_[^:]*: already delivered: queued/)
  expect(await findDue()).toEqual([])
  expect(waiting.result).toMatchObject({ isRepeated: true })
  await known.giveKeys(account.id, [waiting], { hasLeft: true })
  expect(await ask(LEFT, run, to)).toMatch(/^250 2\.0\.0 msg_[^:]*: queued/)
  expect(exchanger.messages).toHaveLength(2)
})

test('a message whose client has left, and whose repeat is answered first, holds no equal message back', async () => {
  const run = ++count
  const to = [`ann.${run}@example.net`]
  const { release, key } = await leaveEarly(run, to)
  const [running] = await query<{ messageId: string; position: number }>(
    db,
    'select message_id as "messageId", position from recipient_keys',
  )
  const known = new KnownRecipients(db)
  const first: KnownRecipient = { address: parseAddress(to[0]!)!, keys: { ofContent: key }, running }
  await known.giveToRunning(account.id, [first])
  release()
  await eventually(async () => {
    await known.findDue([first], { accountId: account.id, sandbox: false, fromDomain: 'example.test' })
    expect(first.result).toBeDefined()
  })
  expect(await ask(LEFT, run, to)).toMatch(/^250 2\.0\.0 msg_[^:]*: already delivered: queued/)
  await known.giveKeys(account.id, [first], { hasLeft: true })
  expect(await ask(LEFT, run, to)).toMatch(/^250 2\.0\.0 msg_[^:]*: queued/)
})

test('a key that is given just after its message was released holds nothing back', async () => {
  const run = ++count
  const to = [`ann.${run}@example.net`]
  const { release, key } = await leaveEarly(run, to)
  await query(db, 'update recipient_keys set message_id = gen_random_uuid()')
  const repeat: KnownRecipient = { address: parseAddress(to[0]!)!, keys: { ofContent: key } }
  const place = { accountId: account.id, sandbox: false, fromDomain: 'example.test' }
  expect(await new KnownRecipients(db).findDue([repeat], place)).toEqual([repeat])
  release()
})

test('a connection that is closed without a reply, because the outcome is unknown: a repeat mails no one again', async () => {
  const engine: Engine = {
    ...api.world.engine,
    async deliver({ beforeDot }) {
      await beforeDot([0], [])
      throw new Error('a fault after the marker')
    },
  }
  const { smtpDoor } = await startApi(undefined, undefined, { world: api.world, engine, sendBudgetMs: 1_000 })
  const { port } = await listenWith(smtpDoor)
  const [one, run]: [Case, number] = [{ ...LEFT, leaves: ['clear', 'end'], messageIds: 'new' }, ++count]
  const to = [`ann.${run}@example.net`]
  expect(await (await begin(one, run, to, port)).reply()).toBe('closed')
  expect(await ask(one, run, to)).toMatch(/^550 5\.4\.7 msg_\w+: the reply to the final dot was lost/)
  expect(exchanger.messages).toEqual([])
})

test('a client that closes its sending side in clear text reads its reply, and an equal message is a new one', async () => {
  const [one, run]: [Case, number] = [{ ...LEFT, leaves: ['clear', 'end'], messageIds: 'new' }, ++count]
  const to = [`ann.${run}@example.net`]
  for (let i = 1; i <= 3; i++) {
    const client = await begin(one, run, to)
    client.end()
    expect(await client.reply()).toMatch(/^250 2\.0\.0 msg_\w+: (?!already)/)
    expect(exchanger.messages).toHaveLength(i)
  }
})

test('after a 451 and a repeat with the same Message-ID, an equal message is a new one', async () => {
  const seen = new Set<string>()
  exchanger.script = { rcpt: (line) => (seen.has(line) ? '250 2.1.5 ok' : seen.add(line) && '451 4.7.1 later') }
  const to = `ann.${++count}@example.net`
  const send = async (messageId: string) => {
    const client = await connectClient(doors.clear.port)
    await client.logIn(api.keys.live)
    const content = `From: hello@example.test\r\nSubject: Order\r\nMessage-ID: <${messageId}>\r\n\r\nHi\r\n`
    const reply = await client.send({ from: 'hello@example.test', to: [to], content })
    client.end()
    return reply.replace(/msg_\w+/, 'msg')
  }
  const replies = [await send('a@client.test'), await send('a@client.test'), await send('b@client.test')]
  expect(replies).toEqual(['451 4.7.1 msg: later', '250 2.0.0 msg: queued', '250 2.0.0 msg: queued'])
  expect(exchanger.messages).toHaveLength(2)
})
