import fc from 'fast-check'
import { expect, test } from 'vitest'
import { startFrontWorld } from './world.ts'

const { api, front, loggedIn, send } = await startFrontWorld({ maxRecipients: 100 })
const { exchanger } = api.world

/** What the server of a recipient answers at each try; the last answer stays. */
type Fates = ('later' | 'delivered' | 'refused')[]

const fates = fc
  .tuple(fc.array(fc.constant('later' as const), { maxLength: 2 }), fc.constantFrom('delivered', 'refused'))
  .map(([first, last]): Fates => [...first, last as 'delivered'])

/** What a program may do anew when it builds a message again. */
const building = fc.record({
  boundary: fc.stringMatching(/^[a-z]{8}$/),
  encoding: fc.constantFrom('7bit', 'base64', 'quoted-printable'),
  date: fc.constantFrom('Sat, 28 Nov 2026 10:00:00 +0000', 'Sat, 28 Nov 2026 11:00:00 +0000'),
  isFolded: fc.boolean(),
  isEncoded: fc.boolean(),
  received: fc.nat(2),
  charset: fc.constantFrom('us-ascii', 'utf-8'),
})

type Building = typeof building extends fc.Arbitrary<infer One> ? One : never

const TEXT = 'Line = one\r\nand the last.'

const ENCODED: Record<string, string> = {
  '7bit': TEXT,
  base64: Buffer.from(TEXT).toString('base64'),
  'quoted-printable': TEXT.replaceAll('=', '=3D').replace('one', 'o=\r\nne'),
}

function build(messageId: string | undefined, subject: string, how: Building): string {
  const part = (type: string) =>
    `--${how.boundary}\r\nContent-Type: ${type}\r\nContent-Transfer-Encoding: ${how.encoding}\r\n\r\n${ENCODED[how.encoding]}\r\n`
  return [
    ...Array.from({ length: how.received }, () => `Received: by a.example; ${how.date}`),
    ...['From: Shop <hello@example.test>', `To: a@example.net,${how.isFolded ? '\r\n ' : ' '}b@example.net`],
    `Subject: ${how.isEncoded ? `=?utf-8?B?${Buffer.from(subject).toString('base64')}?=` : subject}`,
    ...(messageId === undefined ? [] : [`Message-ID: ${messageId}`]),
    ...[`Date: ${how.date}`, `Content-Type: multipart/mixed; boundary=${how.boundary}`, ''],
    `${part(`text/plain; charset=${how.charset}`)}${part('text/csv; name=a.csv')}--${how.boundary}--`,
    '',
  ].join('\r\n')
}

let count = 0

/** A script by which each recipient meets its fates; `mailed` are the recipients of messages that were accepted. */
function playFates(all: Map<string, Fates>) {
  const tries = new Map<string, number>()
  exchanger.messages.length = 0
  exchanger.script = {
    rcpt: (line) => {
      const address = /<([^>]*)>/.exec(line)![1]!
      const ofAddress = all.get(address)!
      const at = tries.get(address) ?? 0
      tries.set(address, at + 1)
      const fate = ofAddress[Math.min(at, ofAddress.length - 1)]
      return fate === 'later' ? '450 4.2.0 later' : fate === 'refused' ? '554 5.7.1 not this content' : undefined
    },
  }
  return { mailed: () => exchanger.messages.flatMap(({ to }) => to).toSorted() }
}

const MOST_TRIES = 12

test('a client that repeats on 451, each time built anew, mails each recipient exactly once', async () => {
  const messageIds = fc.constantFrom('same', 'new', 'none')
  await fc.assert(
    fc.asyncProperty(
      fc.array(fates, { minLength: 1, maxLength: 4 }),
      messageIds,
      fc.array(building, { minLength: MOST_TRIES, maxLength: MOST_TRIES }),
      async (lists, ids, buildings) => {
        // Clients that make a new Message-ID are known by their content, after a reply that covers several recipients.
        const run = ++count
        const recipients = new Map(lists.map((list, i) => [`r${i}-${run}@example.net`, list]))
        const { mailed } = playFates(recipients)
        const idOf = (i: number) => ({ same: `<${run}@t>`, new: `<${run}.${i}@t>`, none: undefined })[ids]
        let reply = ''
        for (const [i, how] of buildings.entries()) {
          reply = await send({ to: [...recipients.keys()], content: build(idOf(i), `Order ${run}`, how) })
          if (!/^4/.test(reply)) break
        }
        const ofFate = (fate: string) => [...recipients].filter(([, list]) => list.at(-1) === fate).map(([one]) => one)
        const [delivered, refused] = [ofFate('delivered').toSorted(), ofFate('refused')]
        expect(mailed()).toEqual(delivered)
        expect(reply.slice(0, 3)).toBe(delivered.length > 0 ? '250' : '554')
        if (lists.length > 1) for (const address of refused) expect(reply).toContain(`${address}: 554`)
        if (ids !== 'same') return
        expect(await send({ to: [...recipients.keys()], content: build(idOf(0), `Order ${run}`, buildings[0]!) })).toBe(
          reply,
        )
        expect(mailed()).toEqual(delivered)
      },
    ),
    { numRuns: 25 },
  )
})

test('after a 451 that covered a delivered recipient, the same content under a new Message-ID is already delivered', async () => {
  const how = fc.sample(building, 2) as [Building, Building]
  const { mailed } = playFates(
    new Map<string, Fates>([
      ['now@example.net', ['delivered']],
      ['soon@example.net', ['later', 'delivered']],
    ]),
  )
  const to = ['now@example.net', 'soon@example.net']
  expect(await send({ to, content: build('<now1@t>', 'Now', how[0]) })).toMatch(
    /^451-4\.2\.0 msg_\w+: delivered to 1 of 2 recipients, not to:\r\n451 4\.2\.0 soon@example\.net: 450 4\.2\.0 later$/,
  )
  const second = await send({ to, content: build('<now2@t>', 'Now', how[1]) })
  expect(second).toMatch(/^250 2\.0\.0 msg_\w+, msg_\w+: already delivered: /)
  expect(mailed()).toEqual(to)
  // Other words are another message.
  expect(await send({ to, content: build('<now3@t>', 'Later', how[1]) })).toMatch(/^250 2\.0\.0 msg_\w+: (?!already)/)
})

test('a message that was answered by 250 is no reason to hold back an equal one', async () => {
  const [how] = fc.sample(building, 1) as [Building]
  const { mailed } = playFates(new Map([['twice@example.net', ['delivered']]]))
  const replies = [
    await send({ to: 'twice@example.net', content: build('<twice1@t>', 'Twice', how) }),
    await send({ to: 'twice@example.net', content: build('<twice2@t>', 'Twice', how) }),
  ]
  expect(replies.every((reply) => /^250 .*msg_\w+: (?!already)/.test(reply))).toBe(true)
  expect(mailed()).toHaveLength(2)
})

test('up to 100 recipients are taken; over 50 become two messages, whose ids are both in the reply', async () => {
  const addresses = Array.from({ length: 100 }, (_, i) => `many${i}@example.net`)
  const { mailed } = playFates(new Map(addresses.map((address) => [address, ['delivered']])))
  const [how] = fc.sample(building, 1) as [Building]
  const reply = await send({ to: addresses, content: build('<many@t>', 'Many', how) })
  expect(reply).toMatch(/^250 2\.0\.0 msg_\w{26}, msg_\w{26}: /)
  expect(mailed()).toEqual(addresses.toSorted())
  const client = await loggedIn(api.keys.live, front.port)
  await client.ask('MAIL FROM:<hello@example.test>')
  for (const address of addresses) expect(await client.ask(`RCPT TO:<${address}>`)).toMatch(/^250/)
  expect(await client.ask('RCPT TO:<more@example.net>')).toMatch(/^452 4\.5\.3/)
  client.end()
})
