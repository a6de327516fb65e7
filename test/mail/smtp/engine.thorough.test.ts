import { expect, test } from 'vitest'
import type { SmtpAttempt } from '../../../mail/smtp/attempt.ts'
import { CONTENT, engineWith, exchangerWith, outcomeOf, send, siteOf } from './deliver.ts'

test('a process that was stopped past the deadline of the dot does not send it, even with permission', async () => {
  const exchanger = await exchangerWith()
  const attempt = await send(engineWith(), siteOf(exchanger), {
    budgetMs: 4_000,
    beforeDot: async () => {
      const startedAt = performance.now()
      while (performance.now() - startedAt < 2_020) {
        // The process is blocked.
      }
      return true
    },
  })
  expect(attempt).toMatchObject({ phase: 'data', outcome: { kind: 'our_fault' } })
  expect(exchanger.messages).toEqual([])
})

// Large

test('a message of 10 MB arrives byte for byte', async () => {
  const exchanger = await exchangerWith()
  const lines = Buffer.from(`.${'x'.repeat(75)}\r\n`.repeat(130_000))
  const content = [...CONTENT, lines.subarray(0, 77), lines.subarray(77)]
  const attempt: SmtpAttempt = await send(engineWith(), siteOf(exchanger), { content, budgetMs: 200_000 })
  expect(outcomeOf(attempt)).toBe('delivered')
  expect(exchanger.messages[0]!.content.length).toBe(Buffer.concat(content).length)
  expect(exchanger.messages[0]!.content === Buffer.concat(content).toString('latin1')).toBe(true)
})
