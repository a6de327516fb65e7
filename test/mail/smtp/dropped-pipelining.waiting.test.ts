import { createServer, type Socket } from 'node:net'
import { expect, test } from 'vitest'
import type { Site } from '../../../mail/smtp/attempt.ts'
import { deliveryTo, engineWith, outcomeOf, siteOf } from './deliver.ts'

const REPLIES: Record<string, string> = {
  EHLO: '250-mx.test\r\n250 PIPELINING',
  MAIL: '250 ok',
  RCPT: '250 ok',
  DATA: '354 go ahead',
  QUIT: '221 bye',
}

/** A server that offers PIPELINING, and reads this many commands of those that arrive together. */
async function forgetfulServer(read: number) {
  const serve = (socket: Socket) => {
    let isContent = false
    socket.on('error', () => {})
    socket.write('220 mx.test\r\n')
    socket.on('data', (octets) => {
      const text = octets.toString('latin1')
      if (isContent) {
        if (!text.endsWith('\r\n.\r\n')) return
        isContent = false
        socket.write('250 queued\r\n')
        return
      }
      for (const command of text.trimEnd().split('\r\n').slice(0, read)) {
        const verb = command.slice(0, 4).toUpperCase()
        isContent = verb === 'DATA'
        socket.write(`${REPLIES[verb]}\r\n`)
      }
    })
  }
  const server = createServer(serve)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const close = () => void server.close()
  return { host: '127.0.0.1', port: (server.address() as { port: number }).port, close }
}

// One message's commands arrive together: MAIL, a RCPT for each recipient, DATA. All but the last may be read.
const LOSSES = [1, 2, 3].flatMap((recipients) =>
  Array.from({ length: recipients + 1 }, (_, i) => ({ recipients, read: i + 1 })),
)

test.concurrent.for(LOSSES)(
  'a server that lets pipelined commands go unanswered gets one at a time from then on: $read read, $recipients recipients',
  async ({ recipients, read }, { onTestFinished }) => {
    const engine = engineWith({ limits: { commandMs: 300, dotMs: 3_000 } })
    const server = await forgetfulServer(read)
    onTestFinished(server.close)
    const sendTo = async (site: Site) => {
      const to = Array.from({ length: recipients }, (_, i) => ({ address: `user${i}@example.test`, site }))
      return (await engine.deliver(deliveryTo(site, { recipients: to, budgetMs: 3_000 }))).map(outcomeOf)
    }
    const all = (outcome: string) => Array(recipients).fill(outcome)
    expect(await sendTo(siteOf(server))).not.toEqual(all('delivered'))
    expect(await sendTo(siteOf(server))).toEqual(all('delivered'))
    // Another domain, with the same exchanger.
    expect(await sendTo({ ...siteOf(server), key: 'other' })).toEqual(all('delivered'))
  },
)
