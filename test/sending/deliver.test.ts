import { expect, test } from 'vitest'
import type { Delivery, Engine } from '../../mail/smtp/attempt.ts'
import type { CheckedRecipient } from '../../server/sending/checks.ts'
import { deliver } from '../../server/sending/deliver.ts'

const RECIPIENT = {
  kind: 'to',
  address: { address: 'a@example.test', local: 'a', domain: 'example.test' },
  site: { key: '', hosts: [] },
} as unknown as CheckedRecipient
const PARTS = { startedAtMs: performance.now(), budgetMs: 30_000, content: [], returnPath: () => '' }

/** Delivers to a recipient whose server is asked for the final dot once for each error of the marker. */
async function withMarkersThat(errors: Error[]) {
  const seen: unknown[] = []
  const engine = {
    async deliver({ beforeDot }: Delivery) {
      for (const _ of errors) await beforeDot([0], []).catch((error) => seen.push(error))
      const outcome = { kind: 'our_fault', cause: 'no leave for the dot' }
      return [{ phase: 'data', outcome, tls: null, durationMs: 0, timings: {} }]
    },
  } as unknown as Engine
  const queue = errors.values()
  const result = await deliver(engine, [RECIPIENT], async () => Promise.reject(queue.next().value), PARTS)
  return { seen, result }
}

const readOnly = Object.assign(new Error('read-only transaction'), { code: '25006' })
const broken = new Error('broken')

test('a marker that fails gives no leave, and the engine has its error', async () => {
  const { seen, result } = await withMarkersThat([broken])
  expect(seen).toEqual([broken])
  expect(result).toMatchObject({ fault: 'no leave for the dot', isWithoutLeave: true })
})

test('a database that took no writes is the fault, whatever came after it', async () => {
  const { seen, result } = await withMarkersThat([readOnly, broken])
  expect(seen).toEqual([readOnly, broken])
  expect(result.fault).toBe('The database takes no writes')
})
