import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'

/** Kills its first argument, a process or a group, as soon as its standard input ends. */
const GUARD = 'read -r _; kill -KILL "$0"'

/**
 * Kills the child when this process has ended in any way, even if the child is stopped (SIGSTOP). Without this, a
 * process that a failed test leaves behind holds the output of the test process open, and the whole run waits for it.
 */
export function endWithUs<T extends ChildProcess>(child: T, { group = false } = {}): T {
  const target = group ? `-${child.pid}` : `${child.pid}`
  const guard = spawn('sh', ['-c', GUARD, target], { stdio: ['pipe', 'ignore', 'ignore'], detached: true })
  guard.unref()
  child.once('exit', () => guard.kill('SIGKILL'))
  return child
}
