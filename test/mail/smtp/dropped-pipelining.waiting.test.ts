import { createServer, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { engineWith, outcomeOf, send, siteOf } from './deliver.ts'

const REPLIES: Record<string, string> = {
  EHLO: '250-mx.test\r\n250 PIPELINING',
  MAIL: '250 ok',
  RCPT: '250 ok',
  DATA: '354 go ahead',
  QUIT: '221 bye',
}

/** A server that offers PIPELINING, and reads one command of what arrives together. */
async function forgetfulServer() {
  const serve = (socket: Socket) => {
    let isContent = false
    socket.on('error', () => {})
    socket.write('220 mx.test\r\n')
    socket.on('data', (octets) => {
      const text = octets.toString('latin1')
      const verb = text.slice(0, 4).toUpperCase()
      if (isContent && !text.endsWith('\r\n.\r\n')) return
      socket.write(`${isContent ? '250 queued' : REPLIES[verb]}\r\n`)
      isContent = !isContent && verb === 'DATA'
    })
  }
  const server = createServer(serve)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return { host: '127.0.0.1', port: (server.address() as { port: number }).port }
}

test('a server that lets pipelined commands go unanswered gets one at a time from then on', async () => {
  const engine = engineWith({ limits: { commandMs: 300, dotMs: 3_000 } })
  const server = await forgetfulServer()
  expect(outcomeOf(await send(engine, siteOf(server)))).toBe('connection_timeout')
  expect(outcomeOf(await send(engine, siteOf(server)))).toBe('delivered')
  // Another domain, with the same exchanger.
  expect(outcomeOf(await send(engine, { ...siteOf(server), key: 'other' }))).toBe('delivered')
})
