import { expect, test } from 'vitest'
import { deliver } from './client.ts'
import { greeted, listener, TO } from './listening.ts'

// When connections end.

test('a client that is silent, or sends a little all the time, is disconnected', async () => {
  const { port } = await listener({ limits: { idleMs: 1_000, totalMs: 3_000 } })
  const idle = await greeted(port)
  expect(await idle.say()).toMatch(/^421 Timeout/)
  const slow = await greeted(port, TO)
  await slow.say('DATA')
  const drip = setInterval(() => slow.write('x'), 50)
  expect(await slow.say()).toBe('421 4.4.2 This takes too long')
  clearInterval(drip)
})

test('while the listener closes, it accepts no new connection, and replies to a mail in progress', async () => {
  const { promise, resolve } = Promise.withResolvers<void>()
  const isReceived = Promise.withResolvers<void>()
  const receive = () => {
    isReceived.resolve()
    return promise
  }
  const { port, close } = await listener({ receive })
  const { say } = await greeted(port, TO)
  await say('DATA')
  const reply = say('x\r\n.')
  await isReceived.promise
  const closed = close()
  expect(await deliver(port, TO, 'x')).toBe('')
  resolve()
  expect(await reply).toMatch(/^250/)
  await closed
})
