import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { lastLines } from './last-lines.ts'
import { spawnWithLog } from './spawn-with-log.ts'

export interface ProgramToStart {
  /** Used in messages, such as `The API`. */
  name: string
  /** Its path in this repository. */
  file: string
  logFile: string
}

export interface StartedProgram<Ready> {
  /** The message that it sends when it is ready; undefined when it ends before that. */
  ready: Promise<Ready | undefined>
  /** Resolves when it has ended: to undefined after success, otherwise to a message for the user. */
  gone: Promise<string | undefined>
  /** Ends it after it has finished what it accepted. */
  drain(): void
  /** Ends it at once. */
  kill(): void
}

const pathTo = (file: string) => fileURLToPath(new URL(file, import.meta.url))

/**
 * Starts a program of this repository in its own process group, so that Ctrl-C on the terminal reaches it only through
 * `drain`. Its log goes to a file; its standard error, which says why it cannot start, goes to the terminal.
 */
export async function startProcess<Ready>(
  program: ProgramToStart,
  env: NodeJS.ProcessEnv,
): Promise<StartedProgram<Ready>> {
  const { name, file, logFile } = program
  const imports = ['../server/process/compile-cache.mjs', 'end-with-parent.ts'].flatMap((file) => [
    '--import',
    pathTo(file),
  ])
  const command = [process.execPath, ...imports, pathTo(`../${file}`)]
  const { child, gone: exit } = await spawnWithLog(command, logFile, (log) => ['ignore', log, 'inherit', 'ipc'], {
    env,
  })
  const gone = exit.then(async ([code, signal]) =>
    code === 0 ? undefined : `${name} ended (${code ?? signal}). ${await lastLines(logFile)}`,
  )
  const message = once(child, 'message').then(([message]) => message as Ready)
  const ready = Promise.race([message, gone.then(() => undefined)])
  const drain = () => {
    child.kill('SIGTERM')
    // Without the channel, a later end of this process does not send a second signal, which would end the drain.
    if (child.connected) child.disconnect()
  }
  return { ready, gone, drain, kill: () => child.kill('SIGKILL') }
}
