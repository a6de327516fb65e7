import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { open } from 'node:fs/promises'
import { join } from 'node:path'

export interface OtherServer extends AsyncDisposable {
  pid: number
}

/**
 * Starts another project's server as a child that ends with us. Its standard input is open; it writes to `output` in
 * `dir`.
 */
export async function startServer(
  program: string,
  args: readonly string[],
  { dir, env }: { dir: string; env?: Record<string, string> },
): Promise<OtherServer> {
  const output = await open(join(dir, 'output'), 'a')
  const child = spawn(program, args, {
    cwd: dir,
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env },
    stdio: ['pipe', output.fd, output.fd],
  })
  const gone = once(child, 'exit')
  const kill = () => child.kill('SIGKILL')
  process.once('exit', kill)
  // Rejects when the program does not exist.
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
