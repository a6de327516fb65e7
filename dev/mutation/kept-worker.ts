import { type ChildProcess, fork } from 'node:child_process'
import { EventEmitter } from 'node:events'
import { join } from 'node:path'
import type { PoolOptions, PoolWorker, WorkerRequest } from 'vitest/node'

/**
 * A worker that outlives the runs of Vitest, which starts and stops one for each run: to load the packages that the
 * tests import takes longer than most tests.
 */
export class KeptWorker implements PoolWorker {
  readonly name = 'kept'
  readonly #options: PoolOptions
  /** What the current run listens to. */
  readonly #run = new EventEmitter()
  #child: ChildProcess | undefined
  #isReady = false
  #isRunning = false

  constructor(options: PoolOptions) {
    this.#options = options
  }

  on(event: string, listener: (...values: unknown[]) => void): void {
    this.#run.on(event, listener)
  }

  off(event: string, listener: (...values: unknown[]) => void): void {
    this.#run.off(event, listener)
  }

  deserialize(message: unknown): unknown {
    return message
  }

  send(message: WorkerRequest): void {
    if (message.type === 'stop') this.#answer('stopped')
    else if (message.type === 'start' && this.#isReady) this.#answer('started')
    else this.#child?.send(message)
    if (message.type === 'start') this.#isReady = true
    this.#isRunning = message.type !== 'stop'
  }

  async start(): Promise<void> {
    if (this.#child) return
    const { distPath, env, execArgv } = this.#options
    const child = fork(join(distPath, 'workers/forks.js'), [], {
      env: env as NodeJS.ProcessEnv,
      execArgv,
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      serialization: 'advanced',
    })
    child.on('message', (message) => this.#run.emit('message', message))
    child.on('exit', (code, signal) => {
      if (this.#child === child) this.#child = undefined
      // Vitest takes the end of a worker for a crash, even after a run.
      if (this.#isRunning) this.#run.emit('exit', code, signal)
    })
    this.#child = child
    this.#isReady = false
  }

  /** A run is over; the process stays. */
  async stop(): Promise<void> {
    this.#run.removeAllListeners()
  }

  /** Ends the process, even in an endless loop. The next run starts another one. */
  async end(): Promise<void> {
    const child = this.#child
    if (!child) return
    const exited = new Promise((resolve) => child.once('exit', resolve))
    child.kill('SIGKILL')
    await exited
  }

  #answer(type: 'started' | 'stopped'): void {
    queueMicrotask(() => this.#run.emit('message', { type, __vitest_worker_response__: true }))
  }
}
