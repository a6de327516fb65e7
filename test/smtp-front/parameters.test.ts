import fc from 'fast-check'
import { expect, test } from 'vitest'
import { letter, startFrontWorld } from './world.ts'

const { api, listenWith, loggedIn } = await startFrontWorld()

const OFFERED = ['SIZE=100', 'size=100', 'BODY=8BITMIME', 'BODY=7bit', 'AUTH=<>', 'SMTPUTF8']
const UNKNOWN = ['BODY=BINARYMIME', 'BODY', 'SMTPUTF8=yes', 'RET=FULL', 'ENVID=a', 'REQUIRETLS', 'MT-PRIORITY=3', 'X=y']
const nameOf = (parameter: string) => parameter.split('=')[0]!.toUpperCase()

test('parameters and values that are not offered are 555 5.5.4 by their name, and the offered ones are taken', async () => {
  const client = await loggedIn()
  const parameters = fc.uniqueArray(fc.constantFrom(...OFFERED, ...UNKNOWN), { selector: nameOf, maxLength: 4 })
  await fc.assert(
    fc.asyncProperty(parameters, async (given) => {
      await client.ask('RSET')
      const reply = await client.ask(['MAIL FROM:<hello@example.test>', ...given].join(' '))
      const unknown = given.filter((one) => UNKNOWN.includes(one))
      if (unknown.length === 0) expect(reply).toMatch(/^250/)
      else
        expect(unknown.map((one) => `555 5.5.4 The parameter ${nameOf(one)}, or its value, is not offered`)).toContain(
          reply,
        )
    }),
  )
  await client.ask('RSET')
  await client.ask('MAIL FROM:<hello@example.test>')
  for (const one of ['NOTIFY=NEVER', 'ORCPT=rfc822;a@b.test', 'X']) {
    expect(await client.ask(`RCPT TO:<ann@example.net> ${one}`)).toMatch(/^555 5\.5\.4 /)
  }
  expect(await client.ask('RCPT TO:<ann@example.net>')).toMatch(/^250/)
  client.end()
})

test('no reply to a faulty message names a field of the API', async () => {
  const client = await loggedIn(api.keys.live, (await listenWith()).port)
  const faults = ['no field\r\n', 'From: a@example.test\r\n', 'Subject: \x01\r\n', 'To: <\r\n', 'Idempotency-Key:\r\n']
  for (const fault of faults) {
    const content = fault + letter()
    const reply = await client.send({ from: 'hello@example.test', to: ['ann@example.net'], content })
    expect(reply).toMatch(/^550 5\.6\.0 (?:The message has|Idempotency-Key) /)
  }
  client.end()
})
