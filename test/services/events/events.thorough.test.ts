import { expect, test } from 'vitest'
import { startApi } from '../api.ts'

test("events exist for 90 days by the database's clock", async () => {
  const later = await startApi(() => Date.now() + 90 * 86_400_000 + 60_000)
  const { json } = await later.send()
  expect((await later.call('GET', '/api/v1/events')).json.events).toEqual([])
  expect((await later.call('GET', `/api/v1/emails/${json.message_id}`)).status).toBe(410)
})
