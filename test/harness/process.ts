import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { endWithUs } from './end-with-us.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const READY_WITHIN_MS = 90_000

export interface RunningProcess {
  pid: number
  /** Everything it has said so far. */
  stdout(): string
  stderr(): string
  /** Its exit code, or the signal that ended it. */
  ended: Promise<number | NodeJS.Signals>
  /** SIGTERM when left out. Resolves when it is gone. */
  kill(signal?: NodeJS.Signals): Promise<number | NodeJS.Signals>
}

export interface RunningApi extends RunningProcess {
  url: string
  grpcUrl: string
}

/**
 * The API as a process of its own, on free ports. `env` needs DATABASE_URL and ENCRYPTION_KEYS; nothing of the tests' own
 * environment but PATH reaches it. Throws, with what it said, when it does not become ready.
 */
export async function startApiProcess(env: NodeJS.ProcessEnv): Promise<RunningApi> {
  const child = spawn(process.execPath, ['server/main.ts'], {
    cwd: ROOT,
    env: { PATH: process.env.PATH, PORT: '0', ...env },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  const running = observe(endWithUs(child))
  const message = once(child, 'message').then(([message]) => message as { ready: string; grpcUrl?: string })
  const { ready, grpcUrl = ready } = await soon(running, message)
  return { ...running, url: ready, grpcUrl }
}

/**
 * A program of this repository, in a process group of its own so that Ctrl-C can be sent to it as a terminal does:
 * `process.kill(-pid, 'SIGINT')`. Nothing of the tests' own environment but PATH and what HOME keeps (XDG_CACHE_HOME) reaches it.
 */
export function startProgram(command: string, args: string[], env: NodeJS.ProcessEnv): RunningProcess {
  const { PATH, HOME, XDG_CACHE_HOME } = process.env
  const stdio = ['ignore', 'pipe', 'pipe'] as const
  const all = { PATH, HOME, XDG_CACHE_HOME, ...env }
  const child = spawn(command, args, { cwd: ROOT, env: all, detached: true, stdio: [...stdio] })
  return observe(endWithUs(child, { group: true }))
}

/** Resolves when it has said the words on standard output. Throws, with what it said instead, when it ends without them. */
export function said(running: RunningProcess, words: RegExp): Promise<void> {
  const heard = async () => {
    while (!words.test(running.stdout())) await sleep(20)
  }
  return soon(running, heard())
}

function observe(child: ChildProcess): RunningProcess {
  const output = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const) {
    child[name]!.setEncoding('utf8').on('data', (text) => {
      output[name] += text
    })
  }
  // 'close' and not 'exit': everything it said has been read by then.
  const ended = once(child, 'close').then(([code, signal]) => code ?? signal)
  const kill = (signal: NodeJS.Signals = 'SIGTERM') => {
    child.kill(signal)
    return ended
  }
  return { pid: child.pid!, stdout: () => output.stdout, stderr: () => output.stderr, ended, kill }
}

async function soon<T>(running: RunningProcess, result: Promise<T>): Promise<T> {
  const deadline = new AbortController()
  const late = sleep(READY_WITHIN_MS, 'nothing in time', { signal: deadline.signal }).catch(() => '')
  const failed = Promise.race([late, running.ended]).then((how) => {
    throw new Error(`${how}\n${running.stdout()}\n${running.stderr()}`)
  })
  try {
    return await Promise.race([result, failed])
  } finally {
    failed.catch(() => {})
    deadline.abort()
  }
}
