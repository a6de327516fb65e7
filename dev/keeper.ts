import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'

// Servers and builds must not outlive the process that starts them, and must not receive the Ctrl-C meant for it.

/** Signals the command when standard input ends: when this process ends it, and also when this process is killed. */
const KEEPER = `
exec 3<&0
signal=$1 remove=$2
shift 2
"$@" 3<&- & command=$!
(read -r line <&3; kill -"$signal" "$command") & watch=$!
wait "$command"; status=$?
kill "$watch" 2> /dev/null
[ -z "$remove" ] || rm -rf "$remove"
exit "$status"`

/**
 * Returns the command line that runs `command` under a keeper. Spawn it `detached`, in its own process group, with a
 * pipe as standard input. `signal` (`INT`, ...) ends the command; the folder `remove` is then deleted.
 */
export function keeping(command: string[], { signal, remove = '' }: { signal: string; remove?: string }): string[] {
  return ['sh', '-c', KEEPER, 'keeper', signal, remove, ...command]
}

export interface Run {
  /** Kills the command when it aborts. */
  signal: AbortSignal
  /** A folder that is deleted when the command ends. */
  remove?: string
  cwd?: string
  env?: NodeJS.ProcessEnv
  /** Called with the command's standard error. */
  onStderr?: (text: string) => void
}

/** Runs a command under a keeper until it ends. Resolves to whether it succeeded; throws when `signal` killed it. */
export async function runKept(command: string[], { signal, remove, cwd, env, onStderr }: Run): Promise<boolean> {
  signal.throwIfAborted()
  const [file = '', ...args] = keeping(command, { signal: 'KILL', remove })
  const keeper = spawn(file, args, { cwd, env, detached: true, stdio: ['pipe', 'ignore', 'pipe'] })
  const end = () => keeper.stdin.end()
  signal.addEventListener('abort', end)
  keeper.stderr.setEncoding('utf8').on('data', onStderr ?? (() => {}))
  const [status] = await once(keeper, 'close')
  signal.removeEventListener('abort', end)
  signal.throwIfAborted()
  return status === 0
}

/** Ends the keeper's command, and kills it when that takes longer than `withinMs`. Resolves when it has ended. */
export async function stopKept(keeper: ChildProcess, withinMs: number): Promise<void> {
  if (keeper.exitCode !== null || keeper.signalCode !== null) return
  const exit = once(keeper, 'exit')
  keeper.stdin?.end()
  const timer = setTimeout(() => process.kill(-keeper.pid!, 'SIGKILL'), withinMs)
  await exit
  clearTimeout(timer)
}
