import { type ChildProcess, type SpawnOptions, type StdioOptions, spawn } from 'node:child_process'
import { once } from 'node:events'
import { open } from 'node:fs/promises'

interface WithLog {
  child: ChildProcess
  /** Resolves to the exit code and the signal, also when the program ends before its log is closed here. */
  gone: Promise<[code: number | null, signal: NodeJS.Signals | null]>
}

/**
 * Starts a program in its own process group, with a new log that only this user can read. `stdio` gets the log's file
 * descriptor.
 */
export async function spawnWithLog(
  [file = '', ...args]: string[],
  logFile: string,
  stdio: (log: number) => StdioOptions,
  options: SpawnOptions = {},
): Promise<WithLog> {
  const log = await open(logFile, 'w', 0o600)
  const child = spawn(file, args, { ...options, detached: true, stdio: stdio(log.fd) })
  const gone = once(child, 'exit') as WithLog['gone']
  await log.close()
  return { child, gone }
}
