import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { open, readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'

export interface ApiProcess {
  /** Where it serves; undefined when it ended before it did. */
  ready: Promise<{ url: string; grpcUrl: string } | undefined>
  /** Resolves when it is gone: to nothing after a good end, else to words for a person. */
  gone: Promise<string | undefined>
  /** Lets it finish what it has accepted. */
  drain(): void
  /** Lets it finish nothing. */
  kill(): void
}

const pathTo = (file: string) => fileURLToPath(new URL(file, import.meta.url))
const PROGRAM = ['--import', pathTo('end-with-parent.ts'), pathTo('../server/main.ts')]

/**
 * The API as a process of its own, in a process group of its own: Ctrl-C on the terminal reaches it through `drain` alone. Its log
 * goes to a file; what it has to say when it cannot start (standard error), to the terminal.
 */
export async function startApi(env: NodeJS.ProcessEnv, logFile: string): Promise<ApiProcess> {
  const log = await open(logFile, 'w', 0o600)
  const child = spawn(process.execPath, PROGRAM, { env, detached: true, stdio: ['ignore', log.fd, 'inherit', 'ipc'] })
  await log.close()
  const gone = once(child, 'exit').then(([code, signal]) =>
    code === 0 ? undefined : lastWords(code ?? signal, logFile),
  )
  const ready = Promise.race([readiness(child), gone.then(() => undefined)])
  return { ready, gone, drain: () => child.kill('SIGTERM'), kill: () => child.kill('SIGKILL') }
}

async function readiness(child: ChildProcess): Promise<{ url: string; grpcUrl: string }> {
  const [{ ready, grpcUrl = ready }] = await once(child, 'message')
  return { url: ready, grpcUrl }
}

async function lastWords(how: number | string, logFile: string): Promise<string> {
  const lines = (await readFile(logFile, 'utf8')).trimEnd().split('\n').slice(-5)
  return `The API ended (${how}). The last lines of ${logFile}:\n${lines.join('\n')}`
}
