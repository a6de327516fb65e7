import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { open } from 'node:fs/promises'
import { join } from 'node:path'

export interface OtherServer extends AsyncDisposable {
  pid: number
}

/** Somebody else's server, as a child that ends with us. It finds its standard input open, and writes to `output` in `dir`. */
export async function startServer(
  program: string,
  words: readonly string[],
  { dir, env }: { dir: string; env?: Record<string, string> },
): Promise<OtherServer> {
  const output = await open(join(dir, 'output'), 'a')
  const child = spawn(program, words, {
    cwd: dir,
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env },
    stdio: ['pipe', output.fd, output.fd],
  })
  const gone = once(child, 'exit')
  const kill = () => child.kill('SIGKILL')
  process.once('exit', kill)
  // Rejects when there is no such program.
  await once(child, 'spawn')
  await output.close()
  return {
    pid: child.pid!,
    async [Symbol.asyncDispose]() {
      process.off('exit', kill)
      kill()
      await gone
    },
  }
}
