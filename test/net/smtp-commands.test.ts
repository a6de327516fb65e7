import { createConnection } from 'node:net'
import { SMTPServer } from 'smtp-server'
import { afterAll, expect, test } from 'vitest'
import { askBeforeData, smtpConnectionOf, watchCommands } from '../../net/smtp-commands.ts'
import { connectClient } from '../smtp-front/client.ts'

const verbs: string[] = []
let refusal: { code: number; lines: string[] } | undefined
let fault: Error | undefined
const server = new SMTPServer({
  disabledCommands: ['STARTTLS'],
  authOptional: true,
  allowInsecureAuth: true,
  disableReverseLookup: true,
  onConnect(session, reply) {
    const connection = smtpConnectionOf(server, session)!
    watchCommands(connection, (verb) => verbs.push(verb))
    askBeforeData(connection, async () => {
      if (fault) throw fault
      return refusal
    })
    reply(null)
  },
  onAuth: (_login, _session, reply) => reply(null, { user: 'someone' }),
  onData(content, _session, reply) {
    content.resume()
    content.on('end', () => reply(null))
  },
})
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()))
const { port } = server.server.address() as { port: number }
afterAll(() => new Promise<void>((resolve) => server.close(() => resolve())))

test('each complete command is noted, and half of one is not', async () => {
  const client = await connectClient(port)
  for (const line of ['EHLO client.test', 'AUTH LOGIN', 'dXNlcg==', 'a2V5', 'noop']) await client.ask(line)
  client.write('MAIL FROM:<')
  const half = createConnection(port, '127.0.0.1')
  half.write('EHLO')
  await client.ask('ann@example.test>')
  expect(verbs).toEqual(['EHLO', 'AUTH', 'AUTH', 'AUTH', 'NOOP', 'MAIL'])
  half.destroy()
  client.end()
})

test('a DATA gets the reply that refuses it, and the transaction stays', async () => {
  const client = await connectClient(port)
  await client.ask('EHLO client.test')
  expect(await client.ask('DATA')).toMatch(/^503/)
  for (const line of ['MAIL FROM:<ann@example.test>', 'RCPT TO:<bob@example.test>']) await client.ask(line)
  refusal = { code: 452, lines: ['4.3.2 Later'] }
  expect(await client.ask('DATA')).toBe('452 4.3.2 Later')
  refusal = undefined
  // The database may be away.
  fault = new Error('cannot be counted')
  expect(await client.ask('DATA')).toBe('451 4.3.0 Not now, come again')
  fault = undefined
  expect(await client.ask('DATA')).toMatch(/^354/)
  expect(await client.ask('Subject: Hi\r\n\r\n.')).toMatch(/^250/)
  client.end()
})
