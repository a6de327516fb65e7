import { expect, test } from 'vitest'
import { stuffDots } from '../../../mail/smtp/content.ts'
import { deliveryTo, engineWith, exchangerWith, outcomeOf, send, siteOf } from './deliver.ts'

const OFFERS = { ehlo: '250-mx.test\r\n250-PIPELINING\r\n250-8BITMIME\r\n250 SMTPUTF8' }
const UTF8 = 'üser@example.test'
const ASCII = 'ann@example.test'
const SHOWN = [Buffer.from(`To: <${UTF8}>\r\nSubject: hello\r\n\r\nHello.\r\n`)]
const wireOf = (text: string) => Buffer.from(text).toString('latin1')
const commandsOf = ({ sessions }: { sessions: { commands: string[] }[] }) => sessions.flatMap((each) => each.commands)

test('a message that needs no letter beyond ASCII never asks for SMTPUTF8', async () => {
  const exchanger = await exchangerWith(OFFERS)
  expect(outcomeOf(await send(engineWith(), siteOf(exchanger)))).toBe('delivered')
  expect(commandsOf(exchanger).join('\n')).not.toContain('SMTPUTF8')
})

test.each([
  ['its recipient', [UTF8], undefined],
  ['one of its recipients', [ASCII, UTF8], undefined],
  ['an address in its header', [ASCII], SHOWN],
])('a message asks for SMTPUTF8 because of %s, and its octets arrive as they are', async (_, addresses, content) => {
  const exchanger = await exchangerWith(OFFERS)
  const site = siteOf(exchanger)
  const recipients = addresses.map((address) => ({ address, site }))
  const attempts = await engineWith().deliver(deliveryTo(site, { recipients, ...(content && { content }) }))
  expect(attempts.map(outcomeOf)).toEqual(addresses.map(() => 'delivered'))
  expect(commandsOf(exchanger)).toContainEqual(expect.stringMatching(/^MAIL FROM:<sender@sender\.test>.* SMTPUTF8$/))
  for (const address of addresses) expect(commandsOf(exchanger)).toContain(`RCPT TO:<${wireOf(address)}>`)
  if (content) expect(exchanger.messages[0]!.content).toBe(Buffer.concat(content).toString('latin1'))
})

test('a server without SMTPUTF8 gets neither MAIL nor the message whose header shows such an address', async () => {
  const exchanger = await exchangerWith()
  const site = siteOf(exchanger)
  const engine = engineWith()
  const recipients = [UTF8, ASCII].map((address) => ({ address, site }))
  const attempts = await engine.deliver(deliveryTo(site, { recipients, content: SHOWN }))
  for (const attempt of attempts) {
    expect(attempt).toMatchObject({
      phase: 'ehlo',
      outcome: { kind: 'bounced', reason: 'policy_block', retryable: false },
      detail: 'mx1.example.test does not offer SMTPUTF8, which letters beyond ASCII in the header need',
    })
  }
  expect(commandsOf(exchanger)).toEqual(['EHLO sender.test'])
  // The session serves the next message.
  expect(await send(engine, site)).toMatchObject({ outcome: { kind: 'delivered' }, reused: true })
})

test.each([
  ['with pipelining', {}],
  ['without pipelining', { ehlo: '250 mx.test' }],
])('a server %s and without SMTPUTF8 bounces only the recipient whose address needs it', async (_, script) => {
  const exchanger = await exchangerWith({
    ...script,
    rcpt: (line) => (line.includes('gone') ? '550 5.1.1 no such user' : undefined),
  })
  const site = siteOf(exchanger)
  const asked: number[][] = []
  const recipients = [UTF8, 'gone@example.test', 'Ö@example.test', ASCII].map((address) => ({ address, site }))
  const beforeDot = async (accepted: number[]) => {
    asked.push(accepted)
    return true
  }
  const attempts = await engineWith().deliver(deliveryTo(site, { recipients, beforeDot }))
  expect(attempts.map(outcomeOf)).toEqual(['policy_block', 'mailbox_does_not_exist', 'policy_block', 'delivered'])
  expect(attempts[0]).toMatchObject({
    phase: 'ehlo',
    detail: "mx1.example.test does not offer SMTPUTF8, which the recipient's address needs",
  })
  expect(attempts[0]!.timings).not.toHaveProperty('rcpt')
  expect(attempts[3]!.timings).toHaveProperty('rcpt')
  expect(asked).toEqual([[3]])
  const commands = commandsOf(exchanger)
  expect(commands.filter((line) => line.startsWith('RCPT'))).toEqual([
    'RCPT TO:<gone@example.test>',
    'RCPT TO:<ann@example.test>',
  ])
  expect(commands.join('\n')).not.toContain('SMTPUTF8')
})

test('a refused MAIL says nothing of a recipient that was refused before it', async () => {
  const exchanger = await exchangerWith({ mail: '550 5.7.1 blocked' })
  const site = siteOf(exchanger)
  const recipients = [UTF8, ASCII].map((address) => ({ address, site }))
  const [utf8, ascii] = await engineWith().deliver(deliveryTo(site, { recipients }))
  expect([utf8!.phase, ascii!.phase]).toEqual(['ehlo', 'mail'])
})

test('what one session offers counts for that session alone', async () => {
  const exchanger = await exchangerWith({
    ehlo: (_, times) => (times === 0 ? '250-mx.test\r\n250 SMTPUTF8' : '250 mx.test'),
  })
  const site = siteOf(exchanger)
  const engine = engineWith()
  const recipients = [{ address: UTF8, site }]
  const attempts = await Promise.all([
    engine.deliver(deliveryTo(site, { recipients })),
    engine.deliver(deliveryTo(site, { recipients })),
  ])
  expect(attempts.flat().map(outcomeOf).toSorted()).toEqual(['delivered', 'policy_block'])
})

test.each([
  ['To: ü\r\n\r\nü\r\n', 'the body is not ASCII'],
  ['To: \xff\r\n\r\nx\r\n', 'the header is not UTF-8'],
])('%j never leaves: %s', (text) => {
  const octets = Buffer.from(text, text.includes('\xff') ? 'latin1' : 'utf8')
  expect(() => stuffDots([octets])).toThrow(TypeError)
  expect(() => stuffDots([...octets].map((octet) => Buffer.from([octet])))).toThrow(TypeError)
})
