import fc from 'fast-check'
import { expect, test } from 'vitest'
import { sharesOfListeners } from '../../server/smtp-front/listener.ts'
import { CERTIFICATE } from '../harness/certificates.ts'
import { connectClient, plainLogin, stuffed } from './client.ts'
import { letter, startFrontWorld } from './world.ts'

const { api, front, listenWith, loggedIn, send } = await startFrontWorld({ maxRecipients: 100 })
const { exchanger, dns } = api.world
const lmtp = await listenWith({ isLmtp: true })

/** What becomes of a recipient, by the first word of its address. */
const FATES = ['delivered', 'later', 'refused', 'suppressed', 'nowhere'] as const
const addressOf = (fate: string, name: string) => `${fate}.${name}@${fate === 'nowhere' ? 'gone.net' : 'example.net'}`

async function setUp(addresses: readonly string[]): Promise<void> {
  dns.zone['MX gone.net'] = 'nxdomain'
  exchanger.messages.length = 0
  exchanger.script = {
    rcpt: (line) => (/later/.test(line) ? '450 4.2.0 later' : /refused/.test(line) ? '552 5.2.2 no space' : undefined),
  }
  for (const email of addresses.filter((address) => address.startsWith('suppressed'))) {
    await api.call('POST', '/api/v1/suppression', { body: { email } })
  }
}

async function transaction(recipients: readonly string[], content: string | Buffer, key = api.keys.live) {
  const client = await connectClient(lmtp.port)
  expect(await client.logInToLmtp(key)).toMatch(/^235/)
  await client.ask('MAIL FROM:<hello@example.test>')
  let taken = 0
  for (const one of recipients) if (/^250/.test(await client.ask(`RCPT TO:<${one}>`))) taken++
  await client.ask('DATA')
  client.write(stuffed(content))
  const replies: string[] = []
  for (let i = 0; i < taken; i++) replies.push(await client.reply())
  // No reply is too many.
  expect(await client.ask('NOOP')).toMatch(/^250/)
  client.end()
  return replies
}

/** A reply without its id, its address and the time, which differ between two messages. */
const wordsOf = (reply: string) =>
  reply
    .replace(/msg_\w{26}/g, 'msg')
    .replace(/[\w.]+@/g, '@')
    .replace(/\d{4}-\S+Z/, '')

let count = 0

test('the reply for a recipient is the one that it would have alone, and each is mailed once', async () => {
  const fate = fc.constantFrom(...FATES)
  const place = fc.record({ fate, name: fc.constantFrom('a', 'b', 'c') })
  await fc.assert(
    fc.asyncProperty(fc.array(place, { minLength: 1, maxLength: 8 }), fc.boolean(), async (places, hasId) => {
      const run = ++count
      const addresses = places.map(({ fate, name }) => addressOf(fate, `${name}${run}`))
      const alone = new Map<string, string>()
      const fates = [...new Set(places.map((one) => one.fate))]
      await setUp([...addresses, ...fates.map((one) => addressOf(one, `alone${run}`))])
      for (const one of fates) {
        const reply = await send({ to: addressOf(one, `alone${run}`), content: letter(`<alone${run}.${one}@t>`) })
        alone.set(one, wordsOf(reply))
      }
      exchanger.messages.length = 0
      const content = letter(hasId ? `<${run}@t>` : '', `Hi ${run}`)
      const replies = await transaction(addresses, content)
      expect(replies.map(wordsOf)).toEqual(places.map((one) => alone.get(one.fate)))
      const delivered = [...new Set(addresses.filter((one) => one.startsWith('delivered')))].toSorted()
      expect(exchanger.messages.flatMap(({ to }) => to).toSorted()).toEqual(delivered)
      if (!hasId) return
      // A server that has lost the replies sends all of it again: there are no copies.
      await transaction(addresses, content)
      expect(exchanger.messages.flatMap(({ to }) => to).toSorted()).toEqual(delivered)
    }),
    { numRuns: 15 },
  )
})

test('over 50 recipients each reply has the id of its own message', async () => {
  const addresses = Array.from({ length: 60 }, (_, i) => `delivered.${i}@example.net`)
  await setUp([])
  const replies = await transaction(addresses, letter())
  const ids = replies.map((reply) => /^250 2\.0\.0 (msg_\w{26}): /.exec(reply)?.[1])
  expect(ids.map((id) => ids.indexOf(id))).toEqual(addresses.map((_, i) => (i < 50 ? 0 : 50)))
})

test('a fault of the whole message, and one that is too large, has as many replies as recipients', async () => {
  const to = ['ann@example.net', 'no address', 'bob@example.net', 'ann@example.net']
  const faulty = await transaction(to, 'Subject: no sender\r\n\r\nHi\r\n')
  expect(faulty).toHaveLength(3)
  for (const reply of faulty) expect(reply).toMatch(/^550 5\.6\.0 The message has no From header/)
  const large = await transaction(to, Buffer.concat([Buffer.from(letter()), Buffer.alloc(16 * 2 ** 20, 'A')]))
  expect(large).toHaveLength(3)
  for (const reply of large) expect(reply).toMatch(/^552 5\.3\.4/)
  expect(exchanger.messages).toEqual([])
})

test('LMTP has LHLO alone, and the front EHLO and HELO', async () => {
  const client = await connectClient(lmtp.port)
  for (const verb of ['EHLO', 'HELO']) expect(await client.ask(`${verb} client.test`)).toMatch(/^500 5\.5\.1 /)
  expect(await client.ask('MAIL FROM:<hello@example.test>')).toMatch(/^503 5\.5\.1 /)
  expect(await client.ask('LHLO client.test')).toMatch(/^250/)
  client.end()
  const program = await connectClient(front.port)
  expect(await program.ask('LHLO client.test')).toMatch(/^500 5\.5\.1 /)
  client.end()
})

test('the 101st RCPT is 452 4.5.3, whether it names a new recipient or not', async () => {
  const client = await connectClient(lmtp.port)
  await client.logInToLmtp(api.keys.live)
  await client.ask('MAIL FROM:<hello@example.test>')
  for (let i = 0; i < 100; i++) expect(await client.ask('RCPT TO:<ann@example.net>')).toMatch(/^250/)
  expect(await client.ask('RCPT TO:<ann@example.net>')).toMatch(/^452 4\.5\.3/)
  client.end()
})

test('beyond loopback LMTP takes a key after STARTTLS only', async () => {
  const open = await listenWith({ isLmtp: true, host: '0.0.0.0', tls: CERTIFICATE })
  const client = await connectClient(open.port)
  expect(await client.ask('LHLO client.test')).not.toContain('AUTH')
  for (const line of [plainLogin(api.keys.live), 'MAIL FROM:<hello@example.test>', 'RCPT TO:<ann@example.net>']) {
    expect(await client.ask(line)).toMatch(/^530 5\.7\.0 Use STARTTLS/)
  }
  await client.startTls()
  expect(await client.logInToLmtp(api.keys.live)).toMatch(/^235/)
  client.end()
})

test('a test key is a dry run for each recipient', async () => {
  await setUp([])
  const replies = await transaction(['ann@example.net', 'bob@example.net'], letter(), api.keys.test)
  for (const reply of replies) expect(reply).toMatch(/^250 2\.0\.0 msg_\w+: dry run, nothing was sent$/)
  expect(exchanger.messages).toEqual([])
})

test('programs and mail servers share the limits of connections', async () => {
  const shares = sharesOfListeners()
  const [one, other] = [await listenWith({ shares }), await listenWith({ shares, isLmtp: true })]
  const [program, server] = [await loggedIn(api.keys.live, one.port), await connectClient(other.port)]
  await server.logInToLmtp(api.keys.live)
  expect([shares.clients.size(), one.connections(), other.connections()]).toEqual([2, 2, 2])
  program.end()
  server.end()
})
