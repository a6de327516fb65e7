import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseAddress } from '../../mail/address.ts'
import { receivedField } from '../../server/smtp-front/received.ts'
import { letter, startFrontWorld } from './world.ts'

const { api, send } = await startFrontWorld()

const way = fc.record({
  serverName: fc.constantFrom('verdict.test', `${'a'.repeat(60)}.${'b'.repeat(60)}.test`),
  isSecure: fc.boolean(),
  isLmtp: fc.boolean(),
  isUtf8: fc.boolean(),
})
const address = fc
  .constantFrom('ann@example.net', 'jörg@example.net', '"a b"@example.net')
  .map((one) => parseAddress(one)!)

test('a Received field is ASCII, names its protocol and time, and a recipient only when it is alone', () => {
  fc.assert(
    fc.property(way, fc.array(address, { minLength: 1, maxLength: 3 }), (way, recipients) => {
      const text = receivedField(way, recipients, new Date(0)).toString('latin1')
      expect(text).toMatch(
        /^Received: by [\w.]+ with (?:UTF8)?E?(?:SMTP|LMTP)S?A(?:;|\r\n\tfor <[!-~]+>;)\r\n\t[ -~]+\r\n$/,
      )
      expect(text).toContain('Thu, 01 Jan 1970 00:00:00 +0000')
      expect(text.includes('SA')).toBe(way.isSecure)
      expect(text.includes('LMTP')).toBe(way.isLmtp)
      if (recipients.length > 1) expect(text).not.toContain('@')
    }),
  )
})

test('the mail has one more Received field, on top of the 100 that it may have, and no address of its program', async () => {
  const earlier = Array.from(
    { length: 100 },
    (_, i) => `Received: by host${i}.test; Sat, 28 Nov 2026 10:00:00 +0000\r\n`,
  )
  const reply = await send({ to: ['ann@example.net', 'bob@example.net'], content: earlier.join('') + letter() })
  expect(reply).toMatch(/^250/)
  const [mail] = api.world.exchanger.messages.map(({ content }) => content.toString())
  const fields = mail!.split('\r\n\r\n')[0]!.split(/\r\n(?![\t ])/)
  const received = fields.filter((one) => one.startsWith('Received:'))
  expect(received).toHaveLength(101)
  expect(received[0]).toMatch(/^Received: by verdict\.test with ESMTPA;\r\n\t\w{3}, /)
  expect(received[0]).not.toMatch(/127\.0\.0\.1|@/)
  expect(fields.findIndex((one) => !one.startsWith('DKIM-Signature:'))).toBe(fields.indexOf(received[0]!))
})

test('a group in To is sent as it is, and its members are no recipients', async () => {
  const content = letter().replace('To: ann@example.net', 'To: Friends: bob@example.net, cid@example.net;')
  expect(await send({ to: 'ann@example.net', content })).toMatch(/^250/)
  const [mail] = api.world.exchanger.messages
  expect(mail!.to).toEqual(['ann@example.net'])
  expect(mail!.content.toString()).toContain('\r\nTo: Friends: bob@example.net, cid@example.net;\r\n')
})
