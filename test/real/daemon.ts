import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

export interface Daemon {
  /** Everything it has said so far. */
  log(): string
  stop(): Promise<void>
}

const READY_WITHIN_MS = 20_000

/** Stops the server as soon as its own standard input ends: by `stop`, and also when the process of the tests is killed. */
const KEEPER = `
exec 3<&0
signal=$1; shift
"$@" 3<&- </dev/null & server=$!
(read -r line <&3; kill -"$signal" "$server") & watch=$!
wait "$server"; status=$?
kill "$watch"
exit "$status"`

/** A server in the foreground, ready when it takes connections on `port`. Throws, with what it said, when it does not. */
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
  const gone = once(keeper, 'close')
  let ended = false
  gone.then(() => {
    ended = true
  })
  const stop = async () => {
    keeper.stdin.end()
    await gone
  }
  for (const deadline = Date.now() + READY_WITHIN_MS; !(await accepts(address, port)); await sleep(50)) {
    if (!ended && Date.now() < deadline) continue
    await stop()
    throw new Error(`${command.join(' ')} did not come up on ${address}:${port}\n${log}`)
  }
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

/** Free on 127.0.0.1 when it was asked for. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  await new Promise((closed) => server.close(closed))
  return port
}

/** A new folder that other users may enter: the servers run as users of their own. */
export async function openFolder(name: string): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), `verdict-${name}-`))
  await chmod(path, 0o755)
  return path
}

/** Asks again until there is an answer. */
export async function eventually<T>(ask: () => Promise<T | undefined>, withinMs = 15_000): Promise<T> {
  for (const deadline = Date.now() + withinMs; ; await sleep(100)) {
    const answer = await ask()
    if (answer !== undefined) return answer
    if (Date.now() > deadline) throw new Error(`nothing within ${withinMs} ms`)
  }
}
