import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'

// Servers and builds that we start may not outlive us, and may not hear the Ctrl-C that is meant for us.

/** Signals the command as soon as its own standard input ends: when we end it, and also when we are killed. */
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
 * The words that run a command under a keeper. Spawn them with a pipe as standard input, `detached`: in a process group of its own.
 * `signal` (`INT`, ...) ends the command; `remove` is a folder that goes with it.
 */
export function keeping(command: string[], { signal, remove = '' }: { signal: string; remove?: string }): string[] {
  return ['sh', '-c', KEEPER, 'keeper', signal, remove, ...command]
}

export interface Run {
  /** Kills the command. */
  signal: AbortSignal
  /** A folder that goes with the command. */
  remove?: string
  cwd?: string
  env?: NodeJS.ProcessEnv
  /** Hears what it says on standard error. */
  heard?: (text: string) => void
}

/** Runs a command under a keeper to its end. Resolves to whether it succeeded; throws when it was killed by `signal`. */
export async function runKept(command: string[], { signal, remove, cwd, env, heard }: Run): Promise<boolean> {
  signal.throwIfAborted()
  const [word, ...words] = keeping(command, { signal: 'KILL', remove })
  const keeper = spawn(word!, words, { cwd, env, detached: true, stdio: ['pipe', 'ignore', 'pipe'] })
  const end = () => keeper.stdin.end()
  signal.addEventListener('abort', end)
  keeper.stderr.setEncoding('utf8').on('data', heard ?? (() => {}))
  const [status] = await once(keeper, 'close')
  signal.removeEventListener('abort', end)
  signal.throwIfAborted()
  return status === 0
}

/** Lets the command of a keeper end; kills it when it takes longer. Resolves when it is gone. */
export async function stopKept(keeper: ChildProcess, withinMs: number): Promise<void> {
  if (keeper.exitCode !== null || keeper.signalCode !== null) return
  const gone = once(keeper, 'exit')
  keeper.stdin!.end()
  const timer = setTimeout(() => process.kill(-keeper.pid!, 'SIGKILL'), withinMs)
  await gone
  clearTimeout(timer)
}
