import fc from 'fast-check'
import { expect, test } from 'vitest'
import { connectClient, stuffed } from './client.ts'
import { letter, startFrontWorld } from './world.ts'

const { api, listenWith, send } = await startFrontWorld({ maxRecipients: 100 })
const { exchanger } = api.world

const withFields = (fields: readonly string[], messageId?: string, text?: string) =>
  fields.map((field) => `${field}\r\n`).join('') + letter(messageId, text)

/** The recipients of the messages that the exchanger has taken. */
const mailed = () => exchanger.messages.flatMap(({ to }) => to).toSorted()

let count = 0

test('under one key each recipient has one mail, of the first content, whatever comes later', async () => {
  const step = fc.record({
    to: fc.uniqueArray(fc.constantFrom('a', 'b', 'c'), { minLength: 1, maxLength: 3 }),
    content: fc.constantFrom('First', 'Other'),
    isNamed: fc.boolean(),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 6 }), async (steps) => {
      exchanger.messages.length = 0
      const run = ++count
      const first = new Map<string, string>()
      for (const { to, content, isNamed } of steps) {
        const hadOther = to.some((name) => (first.get(name) ?? content) !== content)
        for (const name of to) if (!first.has(name)) first.set(name, content)
        const mail = withFields([`Idempotency-Key: run ${run}`], isNamed ? undefined : '', content)
        const reply = await send({ to: to.map((name) => `${name}${run}@example.net`), content: mail })
        expect(reply).toMatch(/^250/)
        expect(reply.includes('Idempotency-Key')).toBe(hadOther)
        expect(reply).not.toContain('already delivered')
      }
      expect(mailed()).toEqual([...first.keys()].map((name) => `${name}${run}@example.net`).toSorted())
      for (const { to, content } of exchanger.messages) {
        const text = content.toString()
        expect(text).not.toContain('Idempotency-Key')
        for (const one of to) expect(text).toContain(first.get(one[0]!)!)
      }
    }),
    { numRuns: 15 },
  )
})

test('a recipient that may be tried again is, with the content that came first, and with no other', async () => {
  exchanger.script = { rcpt: () => '450 4.2.0 later' }
  const mail = (text: string) => withFields(['Idempotency-Key: again'], undefined, text)
  const to = ['now@example.net', 'then@example.net']
  expect(await send({ to, content: mail('First') })).toMatch(/^451/)
  exchanger.script = {}
  expect(await send({ to, content: mail('Other') })).toMatch(/^451.*Idempotency-Key was given with other content/)
  expect(mailed()).toEqual([])
  expect(await send({ to, content: mail('First') })).toMatch(/^250/)
  expect(mailed()).toEqual(to)
})

test('a key in another mode is another key', async () => {
  const content = withFields(['Idempotency-Key: mode'])
  expect(await send({ to: 'mode@example.net', content, key: api.keys.test })).toContain('dry run')
  expect(await send({ to: 'mode@example.net', content })).not.toContain('dry run')
  expect(mailed()).toEqual(['mode@example.net'])
})

test('a key that is empty, too long or not in printable ASCII, and a second key, send nothing', async () => {
  const faulty = [
    [['Idempotency-Key:'], 'must be 1 to 256 printable ASCII characters'],
    [[`Idempotency-Key: ${'k'.repeat(257)}`], 'must be 1 to 256 printable ASCII characters'],
    [['Idempotency-Key: one', 'IDEMPOTENCY-KEY: one'], 'is given twice'],
  ] as const
  for (const [fields, fault] of faulty) {
    expect(await send({ to: 'ann@example.net', content: withFields(fields) })).toMatch(
      `550 5.6.0 Idempotency-Key ${fault}`,
    )
  }
  expect(await send({ to: 'ann@example.net', content: withFields(['Idempotency-Key: ä']) })).toMatch(/^550 5\.6\.0/)
  expect(mailed()).toEqual([])
  expect(await send({ to: 'ann@example.net', content: withFields([`Idempotency-Key: ${'k'.repeat(256)}`]) })).toMatch(
    /^250/,
  )
})

test('over LMTP, and in raw of the REST API, the fields for the service are taken out and not read', async () => {
  const content = (text: string) =>
    withFields(
      ['Idempotency-Key: passed on', 'X-Service-Sandbox: true', 'X-Service-Tag:', 'X-Service-Tags: stays'],
      undefined,
      text,
    )
  const { port } = await listenWith({ isLmtp: true })
  for (const text of ['One', 'Two']) {
    const client = await connectClient(port)
    await client.logInToLmtp(api.keys.live)
    for (const line of ['MAIL FROM:<hello@example.test>', 'RCPT TO:<passed@example.net>', 'DATA'])
      await client.ask(line)
    client.write(stuffed(content(text)))
    expect(await client.reply()).toMatch(/^250 2\.0\.0 msg_\w+: (?!the|dry)/)
    client.end()
    const raw = Buffer.from(content(text)).toString('base64')
    const response = await api.call('POST', '/api/v1/emails/send', { body: { to: ['passed@example.net'], raw } })
    expect(response.status).toBe(200)
  }
  expect(exchanger.messages).toHaveLength(4)
  for (const message of exchanger.messages) {
    expect(message.content.toString()).not.toMatch(/^(?:Idempotency-Key|X-Service-(?:Sandbox|Tag)):/im)
    expect(message.content.toString()).toContain('X-Service-Tags: stays')
  }
})
