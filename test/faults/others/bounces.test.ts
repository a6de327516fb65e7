import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { beforeAll, expect, test } from 'vitest'
import { endWithUs } from '../../harness/end-with-us.ts'
import { letRun } from '../../harness/waits.ts'
import { POSTFIX } from '../../inbound/bounces.ts'
import { type InboundWorld, startInboundWorld } from '../../inbound/world.ts'

const CONNECTIONS = 10_000
const FLOOD = fileURLToPath(new URL('../flood.ts', import.meta.url))

let world: InboundWorld
beforeAll(async () => {
  world = await startInboundWorld({ limits: { idleMs: 3_000, totalMs: 6_000 } })
})

/** Sends `count` emails one after the other. Returns the milliseconds that each one took. */
async function sendTimes(count: number): Promise<number[]> {
  const times: number[] = []
  for (let i = 0; i < count; i++) {
    const startedAt = performance.now()
    await world.sendMessage({ to: [`user${i}@example.net`] })
    times.push(performance.now() - startedAt)
  }
  return times
}

test('10,000 concurrent connections delay no send, and bounces are accepted again when they are closed', async () => {
  const { returnPath } = await world.sendMessage()
  const flood = endWithUs(fork(FLOOD, [String(world.port), String(CONNECTIONS)], { stdio: 'ignore' }))
  await letRun(200)
  const ask = async (text: 'count' | 'end') => {
    const answer = once(flood, 'message')
    flood.send(text)
    const [counts] = (await answer) as [Record<'opened' | 'held' | 'refused' | 'closed', number>]
    return counts
  }
  // Most connections are tried while messages are sent, however fast this machine sends them.
  const sendTimesMs = await sendTimes(200)
  while ((await ask('count')).opened <= CONNECTIONS / 2) sendTimesMs.push(...(await sendTimes(100)))
  const counts = await ask('end')
  await once(flood, 'exit')

  // A newcomer gets the place of the one that has been silent longest, so that many are greeted and few held.
  expect(counts.held).toBeLessThanOrEqual(400)
  // Without the limit on connections a send waits for thousands of greetings.
  expect(Math.max(...sendTimesMs)).toBeLessThan(2_000)
  expect(world.exchanger.messages).toHaveLength(1 + sendTimesMs.length)

  await expect.poll(() => world.bounce(returnPath, POSTFIX)).toBe('250 2.0.0 Thank you')
})

test('reports that are expensive to parse delay no send', async () => {
  const { returnPath } = await world.sendMessage()
  const bomb = `Content-Type: multipart/mixed; boundary=b\r\n\r\n${'--b\r\n\r\nx\r\n'.repeat(90_000)}`
  const stopping = new AbortController()
  const attack = async () => {
    while (!stopping.signal.aborted) await world.bounce(returnPath, bomb)
  }
  const attackers = Array.from({ length: 8 }, attack)
  const sendTimesMs = await sendTimes(100)
  stopping.abort()
  await Promise.all(attackers)
  expect(world.received.length).toBeGreaterThan(8)
  // A report that is parsed on the sends' thread stops them for longer.
  expect(Math.max(...sendTimesMs)).toBeLessThan(2_000)
})
