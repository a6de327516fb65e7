import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { endWithUs } from './end-with-us.ts'
import { pauseFor, within } from './waits.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
/** How long a process has to become ready, or to write the expected output. */
const LATE = Symbol('late')
const TIMEOUT_MS = 90_000

export interface RunningProcess {
  pid: number
  /** Everything the process has written so far. */
  stdout(): string
  stderr(): string
  /** Resolves with the exit code, or with the signal that ended the process. */
  ended: Promise<number | NodeJS.Signals>
  /** Sends the signal, SIGTERM by default. Resolves when the process has ended. */
  kill(signal?: NodeJS.Signals): Promise<number | NodeJS.Signals>
}

export interface RunningApi extends RunningProcess {
  url: string
  metricsUrl: string
}

interface ApiReady {
  ready: string
  metricsUrl: string
}

/**
 * Starts the API as a separate process on free ports. `env` needs DATABASE_URL and ENCRYPTION_KEYS. Of the tests' own
 * environment, only PATH and the compile cache reach the process. `root` is the folder of another release. Throws with
 * its output when it does not become ready.
 */
export async function startApiProcess(env: NodeJS.ProcessEnv, root = ROOT): Promise<RunningApi> {
  const { PATH, NODE_COMPILE_CACHE } = process.env
  const child = spawn(process.execPath, ['server/main.ts'], {
    cwd: root,
    env: { PATH, NODE_COMPILE_CACHE, PORT: '0', METRICS_PORT: '0', ...env },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  const running = observe(endWithUs(child))
  const message = once(child, 'message').then(([message]) => message as ApiReady)
  const { ready, metricsUrl } = await beforeDeadline(running, message)
  return { ...running, url: ready, metricsUrl }
}

/**
 * Starts a program of this repository in its own process group, so that a test can send Ctrl-C as a terminal does:
 * `process.kill(-pid, 'SIGINT')`. Of the tests' own environment, only PATH, HOME, XDG_CACHE_HOME and the compile
 * cache reach it. `root` is the folder of another release.
 */
export function startProgram(command: string, args: string[], env: NodeJS.ProcessEnv, root = ROOT): RunningProcess {
  const { PATH, HOME, XDG_CACHE_HOME, NODE_COMPILE_CACHE } = process.env
  const stdio = ['ignore', 'pipe', 'pipe'] as const
  const ports = { METRICS_PORT: '0', WORKER_METRICS_PORT: '0' }
  const allEnv = { PATH, HOME, XDG_CACHE_HOME, NODE_COMPILE_CACHE, ...ports, ...env }
  const child = spawn(command, args, { cwd: root, env: allEnv, detached: true, stdio: [...stdio] })
  return observe(endWithUs(child, { group: true }))
}

/**
 * Resolves when standard output matches the pattern. Throws with the output when the process ends, or 90 s pass,
 * without a match.
 */
export function waitForOutput(running: RunningProcess, pattern: RegExp): Promise<void> {
  const match = async () => {
    while (!pattern.test(running.stdout())) await pauseFor(20)
  }
  return beforeDeadline(running, match())
}

function observe(child: ChildProcess): RunningProcess {
  const output = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const) {
    child[name]!.setEncoding('utf8').on('data', (text) => {
      output[name] += text
    })
  }
  // 'close' and not 'exit': by then all output has been read.
  const ended = once(child, 'close').then(([code, signal]) => code ?? signal)
  const kill = (signal: NodeJS.Signals = 'SIGTERM') => {
    child.kill(signal)
    return ended
  }
  return { pid: child.pid!, stdout: () => output.stdout, stderr: () => output.stderr, ended, kill }
}

async function beforeDeadline<T>(running: RunningProcess, result: Promise<T>): Promise<T> {
  const fail = (reason: unknown): never => {
    throw new Error(`${reason}\n${running.stdout()}\n${running.stderr()}`)
  }
  const early = Promise.race([result, running.ended.then(fail)])
  const value = await within(TIMEOUT_MS, early, LATE)
  return value === LATE ? fail(`not ready, or no match, within ${TIMEOUT_MS / 1_000} s`) : value
}
