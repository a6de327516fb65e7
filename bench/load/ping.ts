import { once } from 'node:events'
import { connect } from 'node:net'
import { median } from '../report.ts'

/** The round trip to an SMTP server in milliseconds: the median of `times` NOOPs, one after another. */
export async function ping(port: number, times: number): Promise<number> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  await once(socket, 'data')
  const tripsMs: number[] = []
  for (let i = 0; i < times; i++) {
    const startedAt = performance.now()
    socket.write('NOOP\r\n')
    await once(socket, 'data')
    tripsMs.push(performance.now() - startedAt)
  }
  socket.destroy()
  return median(tripsMs)
}
