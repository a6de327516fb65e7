import { SMTPServer } from 'smtp-server'
import { expect, onTestFinished, test } from 'vitest'
import { type Guest, keepDoor } from '../../net/smtp-sockets.ts'
import { CERTIFICATE } from '../harness/certificates.ts'
import { eventually } from '../harness/eventually.ts'
import { openClient } from '../inbound/client.ts'

test('a socket enters when it is accepted, has one id with its session, and leaves when it closes', async () => {
  const inside = new Map<string, (reply: string) => void>()
  const sessions: string[] = []
  const server = new SMTPServer({
    disabledCommands: ['STARTTLS', 'AUTH'],
    disableReverseLookup: true,
    onConnect(session, reply) {
      sessions.push(session.id)
      reply(null)
    },
  })
  keepDoor(server, {
    connections: 10,
    enter({ id }: Guest, sendAway) {
      if (inside.size === 1) return '4.7.0 Full'
      inside.set(id, sendAway)
      return undefined
    },
    leave: ({ id }: Guest) => void inside.delete(id),
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()))
  onTestFinished(() => new Promise<void>((resolve) => server.close(() => resolve())))
  const { port } = server.server.address() as { port: number }
  const client = await openClient(port)
  expect(await client.say()).toMatch(/^220/)
  expect([...inside.keys()]).toEqual(sessions)
  const refused = await openClient(port)
  expect([await refused.say(), await refused.say()]).toEqual(['421 4.7.0 Full', ''])
  for (const sendAway of inside.values()) sendAway('4.4.2 Make room')
  expect([await client.say(), await client.say()]).toEqual(['421 4.4.2 Make room', ''])
  await eventually(() => expect(inside.size).toBe(0))
  expect(sessions).toHaveLength(1)
})

test('a guest that has changed to TLS leaves when it closes, too', async () => {
  const inside = new Set<string>()
  const server = new SMTPServer({ ...CERTIFICATE, disabledCommands: ['AUTH'], disableReverseLookup: true })
  keepDoor(server, {
    connections: 10,
    enter: ({ id }) => void inside.add(id),
    leave: ({ id }) => void inside.delete(id),
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()))
  onTestFinished(() => new Promise<void>((resolve) => server.close(() => resolve())))
  const client = await openClient((server.server.address() as { port: number }).port)
  await client.say()
  expect(await client.say('STARTTLS')).toMatch(/^220/)
  await client.startTls()
  expect(await client.say('EHLO a')).toMatch(/^250/)
  expect(inside.size).toBe(1)
  client.close()
  await eventually(() => expect(inside.size).toBe(0))
})
