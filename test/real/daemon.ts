import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { atEndOfFile } from '../harness/until-end.ts'
import { pauseFor } from '../harness/waits.ts'

export interface Daemon {
  /** All output of the server so far. */
  log(): string
  stop(): Promise<void>
}

const READY_WITHIN_MS = 20_000

/**
 * Stops the server when the keeper's standard input ends: by `stop`, or because the process of the tests was killed.
 */
const KEEPER = `
exec 3<&0
signal=$1; shift
"$@" 3<&- </dev/null & server=$!
(read -r line <&3; kill -"$signal" "$server") & watch=$!
wait "$server"; status=$?
kill "$watch"
exit "$status"`

/**
 * Starts a server in the foreground. Resolves when it accepts connections on `port`, and throws with its output when it
 * does not. It stops with its file.
 */
export async function startDaemon(
  command: string[],
  { address = '127.0.0.1', port, signal = 'TERM' }: { address?: string; port: number; signal?: 'TERM' | 'INT' },
): Promise<Daemon> {
  const keeper = spawn('sh', ['-c', KEEPER, 'keeper', signal, ...command], { stdio: ['pipe', 'pipe', 'pipe'] })
  let log = ''
  for (const stream of [keeper.stdout, keeper.stderr]) {
    stream.setEncoding('utf8').on('data', (text) => {
      log += text
    })
  }
  const end = once(keeper, 'close')
  let hasEnded = false
  end.then(() => {
    hasEnded = true
  })
  const stop = async () => {
    keeper.stdin.end()
    await end
  }
  for (const deadline = Date.now() + READY_WITHIN_MS; !(await accepts(address, port)); await pauseFor(50)) {
    if (!hasEnded && Date.now() < deadline) continue
    await stop()
    throw new Error(`${command.join(' ')} did not start on ${address}:${port}\n${log}`)
  }
  atEndOfFile(stop)
  return { log: () => log, stop }
}

async function accepts(address: string, port: number): Promise<boolean> {
  const socket = connect(port, address)
  return new Promise((resolve) => {
    socket.on('connect', () => resolve(true)).on('error', () => resolve(false))
  }).then((result) => {
    socket.destroy()
    return result as boolean
  })
}

/**
 * Creates a folder that other users may enter, because each server runs as a separate user. It is removed with its
 * file.
 */
export async function openFolder(name: string): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), `verdict-${name}-`))
  await chmod(path, 0o755)
  atEndOfFile(() => rm(path, { recursive: true, force: true }))
  return path
}

/** Calls `read` until it returns a value. Throws after the timeout. */
export async function eventually<T>(read: () => Promise<T | undefined>, withinMs = 15_000): Promise<T> {
  for (const deadline = Date.now() + withinMs; ; await pauseFor(100)) {
    const value = await read()
    if (value !== undefined) return value
    if (Date.now() > deadline) throw new Error(`nothing within ${withinMs} ms`)
  }
}
