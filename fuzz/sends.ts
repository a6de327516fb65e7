// The law: whatever fails around concurrent sends, a recipient gets at most one content of a key, and all calls with a
// key have one response. Each recipient has one event, and statistics are the sum of the events. What a mail server
// accepted is delivered or in doubt. All statements of `docs/reliability.md` hold that one process can break.

import assert from 'node:assert/strict'
import type { Logs } from '../test/reliability/logs.ts'
import { reconcile } from '../test/reliability/reconcile.ts'
import { type Plan, plans } from './plans/plan.ts'
import { startPlanWorld } from './plans/world.ts'
import type { Target } from './target.ts'

export const sends: Target<Plan> = {
  inputs: plans,
  async start() {
    const world = await startPlanWorld()

    async function check(plan: Plan): Promise<void> {
      const { logs, statistics } = await world.run(plan)
      answerForOthers(logs)
      assert.deepEqual(reconcile(logs), [])
      for (const { delivered, bounced, rejected, inDoubt } of statistics)
        assert.deepEqual({ delivered, bounced, rejected, inDoubt }, countsOf(logs), 'the statistics differ')
    }

    return { check, stop: world.stop }
  },
}

/** The response to another content under the same key is that of the first content: it counts as a try of that one. */
function answerForOthers({ requests, database }: Logs): void {
  const stored = new Map(database.at(-1)!.messages.map(({ id, request }) => [id, request]))
  const keys = new Map(requests.map(({ request, key }) => [request, key]))
  for (const entry of requests) {
    const first = stored.get((entry.body as { message_id?: string } | undefined)?.message_id ?? '')
    if (entry.key !== undefined && first !== undefined && keys.get(first) === entry.key) entry.request = first
  }
}

function countsOf({ database }: Logs) {
  const { recipients } = database.at(-1)!
  const count = (status: string) => recipients.filter((row) => row.status === status).length
  return {
    delivered: count('delivered'),
    bounced: count('bounced'),
    rejected: count('rejected'),
    inDoubt: recipients.filter(({ inDoubt }) => inDoubt).length,
  }
}
