import { fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { endWithUs } from '../../harness/end-with-us.ts'
import { POSTFIX } from '../../inbound/reports.ts'
import { type InboundWorld, startInboundWorld } from '../../inbound/world.ts'

const CONNECTIONS = 10_000
const FLOOD = fileURLToPath(new URL('../flood.ts', import.meta.url))

let world: InboundWorld
beforeAll(async () => {
  world = await startInboundWorld({ limits: { idleMs: 3_000, totalMs: 6_000 } })
})
afterAll(() => world.stop())

/** Milliseconds that each of so many sends took, one after the other. */
async function sends(count: number): Promise<number[]> {
  const took: number[] = []
  for (let i = 0; i < count; i++) {
    const startedAt = performance.now()
    await world.sent({ to: [`user${i}@example.net`] })
    took.push(performance.now() - startedAt)
  }
  return took
}

test('10,000 connections at a time keep no send waiting, and bounces come in again when they are gone', async () => {
  const { returnPath } = await world.sent()
  const flood = endWithUs(fork(FLOOD, [String(world.port), String(CONNECTIONS)], { stdio: 'ignore' }))
  await sleep(200)
  const meanwhile = await sends(200)
  const told = once(flood, 'message')
  flood.send('end')
  const [seen] = (await told) as [Record<'opened' | 'greeted' | 'refused' | 'closed', number>]
  await once(flood, 'exit')

  expect(seen.opened).toBeGreaterThan(CONNECTIONS / 2)
  expect(seen.greeted).toBeLessThanOrEqual(400)
  expect(Math.max(...meanwhile)).toBeLessThan(2_000)
  expect(world.exchanger.messages).toHaveLength(201)

  await sleep(500)
  expect(await world.bounce(returnPath, POSTFIX)).toBe('250 2.0.0 Thank you')
})

test('reports that are made to take long keep no send waiting', async () => {
  const { returnPath } = await world.sent()
  const bomb = `Content-Type: multipart/mixed; boundary=b\r\n\r\n${'--b\r\n\r\nx\r\n'.repeat(90_000)}`
  const stopping = new AbortController()
  const attack = async () => {
    while (!stopping.signal.aborted) await world.bounce(returnPath, bomb)
  }
  const attackers = Array.from({ length: 8 }, attack)
  const meanwhile = await sends(100)
  stopping.abort()
  await Promise.all(attackers)
  expect(world.received.length).toBeGreaterThan(8)
  expect(Math.max(...meanwhile)).toBeLessThan(2_000)
})
