import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { pauseFor } from './waits.ts'

/** Stops a process group with SIGSTOP. Resolves when all its threads have stopped, which takes a moment. */
export async function stopGroup(group: number): Promise<void> {
  process.kill(-group, 'SIGSTOP')
  while (!(await hasStopped(group))) await pauseFor(10)
}

async function hasStopped(group: number): Promise<boolean> {
  const { stdout } = await promisify(execFile)('ps', ['-eLo', 'pgid=,stat='])
  const threads = stdout.split('\n').map((line) => line.trim().split(/\s+/))
  return threads.every(([pgid, state = '']) => pgid !== String(group) || /^[TZ]/.test(state))
}
