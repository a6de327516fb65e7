import { acked, type Delivery, http, type Plan, type Script, until, waitsFor } from './world.ts'

// The outcomes whose histories are stored. Changed workflow code has to replay all of them, because such workflows are
// running.

export interface Scenario {
  script: Script
  plan?: Plan
  /** What happens while the workflow runs. */
  meanwhile?(delivery: Delivery): Promise<unknown>
}

const LATER_MS = 3_600_000

let looks = 0
let faults = 0
const asked = Promise.withResolvers<void>()

export const SCENARIOS: Record<string, Scenario> = {
  acknowledged: { script: ({ number, index }) => (index < number ? acked : http(503)), plan: { dispatches: 3 } },
  exhausted: { script: () => ({ state: 'failed', outcome: 'connect' }), plan: { scheduleMs: [0, 10, 20, 30, 40, 50] } },
  'exhausted by the window': { script: () => http(410), plan: { scheduleMs: [0, 48 * LATER_MS] } },
  'over before': { script: () => ({ state: 'ended' }) },
  busy: { script: () => (looks++ === 0 ? { state: 'not_due' } : acked) },
  'a fault of ours': {
    script: () => {
      if (faults++ === 0) throw new Error('the database is away')
      return acked
    },
  },
  'retried by a person': {
    script: ({ number }) => (number === 2 ? acked : http(503)),
    plan: { dispatches: 2, scheduleMs: [0, LATER_MS] },
    async meanwhile(delivery) {
      await waitsFor(delivery, 2)
      await delivery.handle.signal('retryNow', [delivery.publicIds[1]])
      await until(() => delivery.calls.length === 3)
      await delivery.handle.signal('retryNow')
    },
  },
  'retried by a person during an attempt': {
    async script({ number }) {
      if (number === 2) return acked
      await asked.promise
      return http(503)
    },
    plan: { scheduleMs: [0, LATER_MS] },
    async meanwhile(delivery) {
      await until(() => delivery.calls.length === 1)
      await delivery.handle.signal('retryNow')
      asked.resolve()
    },
  },
  cancelled: {
    script: () => http(503),
    plan: { dispatches: 2, scheduleMs: [0, LATER_MS] },
    async meanwhile(delivery) {
      await waitsFor(delivery, 2)
      await delivery.handle.signal('cancel', [delivery.publicIds[0]])
      await delivery.handle.signal('cancel')
    },
  },
  'cancelled as a workflow': {
    script: () => http(503),
    plan: { scheduleMs: [0, LATER_MS] },
    async meanwhile(delivery) {
      await waitsFor(delivery, 2)
      await delivery.handle.cancel()
    },
  },
  'continued as a new run': {
    script: () => http(503),
    plan: { scheduleMs: [0, LATER_MS] },
    async meanwhile(delivery) {
      await waitsFor(delivery, 2)
      const { runId } = await delivery.handle.describe()
      await until(async () => {
        await Promise.all(Array.from({ length: 50 }, () => delivery.handle.signal('retryNow', [])))
        return (await delivery.handle.describe()).runId !== runId
      })
      await delivery.handle.signal('cancel')
    },
  },
}
