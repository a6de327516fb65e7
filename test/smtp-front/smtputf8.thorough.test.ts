import { expect, test } from 'vitest'
import { letter, startFrontWorld } from './world.ts'

const { api, loggedIn } = await startFrontWorld()
const { exchanger } = api.world
const OFFERS = { ehlo: '250-mx.test\r\n250-PIPELINING\r\n250-8BITMIME\r\n250 SMTPUTF8' }

const ZOE = 'zoë@example.net'
function once(reply: string) {
  let times = 0
  return () => (times++ === 0 ? reply : undefined)
}
const inOctets = (text: string) => Buffer.from(text).toString('latin1')

/** Sends as a program that speaks UTF-8; returns the reply to the first command that is refused, or to the dot. */
async function send(content: string | Buffer, { to = ZOE, parameters = ' SMTPUTF8' } = {}): Promise<string> {
  const client = await loggedIn()
  const lines = [`MAIL FROM:<hello@example.test>${parameters}`, `RCPT TO:<${to}>`, 'DATA']
  try {
    for (const line of lines) {
      client.write(Buffer.from(`${line}\r\n`))
      const reply = await client.reply()
      if (!/^[23]/.test(reply)) return reply
    }
    client.write(Buffer.concat([Buffer.from(content), Buffer.from('.\r\n')]))
    return await client.reply()
  } finally {
    client.end()
  }
}

// First, because a connection keeps what its server offered.
test('a server without SMTPUTF8 gets no such message, and the reply says why', async () => {
  const reason = /^550 5\.7\.1 msg_\w+: \S+ does not offer SMTPUTF8, which /
  expect(await send(letter())).toMatch(reason)
  expect(await send(letter().replace('ann@', 'zoë@'), { to: 'ann@example.net' })).toMatch(reason)
  expect(exchanger.messages).toEqual([])
  expect(await send(letter(), { to: 'ann@example.net' })).toMatch(/^250 /)
})

test('an address and a header with letters beyond ASCII reach a server that offers SMTPUTF8, as they are', async () => {
  exchanger.script = { ...OFFERS, mail: once('421 4.3.2 restarting') }
  expect(await send(letter(), { to: 'ann@example.net' })).toMatch(/^250 /)
  exchanger.messages.length = 0
  const content = letter()
    .replace('To: ann@', 'To: Zoë <zoë@')
    .replace('example.net', 'example.net>')
    .replace('Subject: Hello', 'Subject: Grüße')
  const reply = await send(content)
  expect(reply).toMatch(/^250 /)
  const [message] = exchanger.messages as [(typeof exchanger.messages)[0]]
  expect(message.to).toEqual([inOctets(ZOE)])
  expect(message.content).toContain(inOctets('\r\nTo: Zoë <zoë@example.net>\r\nSubject: Grüße\r\n'))
  const id = /msg_[0-9a-z]{26}/.exec(reply)![0]
  const { json } = await api.call('GET', `/api/v1/emails/${id}`)
  expect(json).toMatchObject({ to: [ZOE], subject: 'Grüße', raw: true })
  expect(await send(content)).toBe(reply)
  expect(exchanger.messages).toHaveLength(1)
})

test('UTF-8 in a header needs SMTPUTF8 in MAIL FROM, and must be UTF-8', async () => {
  const content = letter().replace('Hello', 'Grüße')
  expect(await send(content, { to: 'ann@example.net', parameters: '' })).toMatch(
    /^550.5\.6\.0 The message has an 8-bit octet in its header, in line 3\. Use encoded words .*or SMTPUTF8/,
  )
  expect(await send(Buffer.from(content, 'latin1'))).toMatch(
    /^550 5\.6\.0 The message has a header that is not UTF-8, in line 3/,
  )
  // A reader may take the ideographic full stop for a dot, or not.
  for (const from of ['hëllo@example.test', 'hello@example。test', 'hello@exämple.test']) {
    expect(await send(letter().replace('hello@example.test', from)), from).toMatch(
      /^550 5\.6\.0 The message has letters beyond ASCII in the address of From/,
    )
  }
  expect(exchanger.messages).toEqual([])
})
