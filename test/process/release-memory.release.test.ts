import { expect, test } from 'vitest'
import { startInstance } from '../e2e/instance.ts'
import { usageOf } from '../harness/usage.ts'

test('an API process that has sent nothing takes at most 200 MB of memory, its thread of first attempts included', async () => {
  const { api } = await startInstance()
  // The thread may start later than the process.
  await expect.poll(async () => (await usageOf(api.pid)).residentBytes).toBeLessThan(200_000_000)
})
