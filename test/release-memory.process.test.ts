import { readFile } from 'node:fs/promises'
import { expect, onTestFinished, test } from 'vitest'
import { startInstance } from './e2e/instance.ts'

test('an API process that has sent nothing takes at most 200 MB of memory, its thread of first attempts included', async () => {
  const { api, stop } = await startInstance()
  onTestFinished(stop)
  const residentMb = async () => {
    const status = await readFile(`/proc/${api.pid}/status`, 'utf8')
    return (Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)![1]) * 1024) / 1e6
  }
  // The thread may start later than the process.
  await expect.poll(residentMb).toBeLessThan(200)
})
