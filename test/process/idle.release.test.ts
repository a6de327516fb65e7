import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { startInstance } from '../e2e/instance.ts'
import { usageOf } from '../harness/usage.ts'
import { letRun } from '../harness/waits.ts'

test('an API process that has sent nothing takes at most 200 MB of memory, its thread of first attempts included', async () => {
  const { api } = await startInstance()
  // The thread may start later than the process.
  await expect.poll(async () => (await usageOf(api.pid)).residentBytes).toBeLessThan(200_000_000)
})

test('an API process that has nothing to do sleeps: its event loops wake at most forty times a second', async () => {
  const { api } = await startInstance()
  // Compiling and collecting what the start left keep helper threads busy; only the event loops count.
  await letRun(10_000)
  const before = wakeUpsOf(api.pid)
  await letRun(10_000)
  expect((wakeUpsOf(api.pid) - before) / 10).toBeLessThan(40)
})

/** How often the event loops of a process have waited for something (proc_pid_status(5)). Works on Linux only. */
function wakeUpsOf(pid: number): number {
  const loops = readdirSync(`/proc/${pid}/task`)
    .map((thread) => `/proc/${pid}/task/${thread}`)
    .filter((task) => /main|Worker ?Thread/i.test(readFileSync(`${task}/comm`, 'utf8')))
  const waits = loops.map((task) =>
    Number(/^voluntary_ctxt_switches:\s+(\d+)$/m.exec(readFileSync(`${task}/status`, 'utf8'))![1]),
  )
  return waits.reduce((sum, each) => sum + each, 0)
}
