import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { expect, test } from 'vitest'
import { Wire } from '../../../mail/smtp/wire.ts'
import { eventually } from '../../harness/eventually.ts'
import { listenUntilEnd } from '../../harness/until-end.ts'

test('a server that never reads QUIT keeps the socket open for a second, no longer', async () => {
  const server = createServer({ pauseOnConnect: true })
  const port = await listenUntilEnd(server)
  const accepted = once(server, 'connection')
  const socket = connect(port, '127.0.0.1')
  const [theirs] = await accepted
  new Wire(socket, 0).quit()
  expect(socket.destroyed).toBe(false)
  await eventually(() => expect(socket.destroyed).toBe(true))
  theirs.destroy()
})
