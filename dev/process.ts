import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { open } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { lastLines } from './last-lines.ts'

export interface Program {
  /** For a person: `The API`. */
  name: string
  /** In this repository. */
  file: string
  logFile: string
}

export interface Process<Ready> {
  /** What it says when it serves; undefined when it ended before it did. */
  ready: Promise<Ready | undefined>
  /** Resolves when it is gone: to nothing after a good end, else to words for a person. */
  gone: Promise<string | undefined>
  /** Lets it finish what it has accepted. */
  drain(): void
  /** Lets it finish nothing. */
  kill(): void
}

const pathTo = (file: string) => fileURLToPath(new URL(file, import.meta.url))

/**
 * A program of ours as a process of its own, in a process group of its own: Ctrl-C on the terminal reaches it through `drain` alone.
 * Its log goes to a file; what it has to say when it cannot start (standard error), to the terminal.
 */
export async function startProcess<Ready>(program: Program, env: NodeJS.ProcessEnv): Promise<Process<Ready>> {
  const { name, file, logFile } = program
  const log = await open(logFile, 'w', 0o600)
  const words = ['--import', pathTo('end-with-parent.ts'), pathTo(`../${file}`)]
  const child = spawn(process.execPath, words, { env, detached: true, stdio: ['ignore', log.fd, 'inherit', 'ipc'] })
  await log.close()
  const gone = once(child, 'exit').then(async ([code, signal]) =>
    code === 0 ? undefined : `${name} ended (${code ?? signal}). ${await lastLines(logFile)}`,
  )
  const message = once(child, 'message').then(([message]) => message as Ready)
  const ready = Promise.race([message, gone.then(() => undefined)])
  const drain = () => {
    child.kill('SIGTERM')
    // Its channel is closed as well: when this process dies later, that is not a second signal, which would end the drain.
    if (child.connected) child.disconnect()
  }
  return { ready, gone, drain, kill: () => child.kill('SIGKILL') }
}
