import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Delivery, Engine } from '../../mail/smtp/attempt.ts'
import type { CheckedRecipient } from '../../server/sending/checks.ts'
import { deliver } from '../../server/sending/deliver.ts'

test('a delivery counts the longest look-up as such, and all other time since the start of its send as ours', async () => {
  const times = fc.array(fc.option(fc.nat(900), { nil: undefined }), { minLength: 1, maxLength: 4 })
  await fc.assert(
    fc.asyncProperty(times, fc.nat(900), async (dnsTimes, restMs) => {
      let told: Delivery | undefined
      const attempt = {
        phase: 'connect',
        outcome: { kind: 'our_fault', cause: '' },
        tls: null,
        durationMs: 0,
        timings: {},
      }
      const engine = {
        deliver: async (delivery: Delivery) => {
          told = delivery
          return delivery.recipients.map(() => attempt)
        },
      } as unknown as Engine
      const site = { key: '', hosts: [] }
      const recipients = dnsTimes.map(
        (dnsMs) =>
          ({
            kind: 'to',
            address: { address: 'a@example.test', local: 'a', domain: 'example.test' },
            site,
            dnsMs,
          }) as CheckedRecipient,
      )
      const lookUpMs = Math.max(0, ...dnsTimes.map((ms = 0) => ms))
      const startedAtMs = performance.now() - lookUpMs - restMs
      const parts = { startedAtMs, budgetMs: 30_000, content: [], returnPath: () => '' }
      await deliver(engine, recipients, async () => true, parts)
      expect(told?.lookUpMs).toBe(lookUpMs)
      expect(told?.ownMs).toBeGreaterThanOrEqual(restMs)
      expect(told?.ownMs).toBeLessThanOrEqual(performance.now() - startedAtMs - lookUpMs)
    }),
  )
})
