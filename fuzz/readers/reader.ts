import { execFile, spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { Problem } from '../../dev/problem.ts'
import { buildEnvironment, goToolchain } from '../../dev/temporal/go-toolchain.ts'
import { cacheFolder } from '../../dev/temporal/install-options.ts'

/** A program in another language that runs until it is stopped. Questions and answers are lines of JSON. */
export interface Reader {
  /** Rejects when the program ends instead of an answer. The next question starts it again. */
  ask<Value>(task: string, input: unknown): Promise<Answer<Value>>
  stop(): Promise<void>
}

/** What the program read, or why it refused the input. */
export type Answer<Value> = { value: Value; refused?: undefined } | { value?: undefined; refused: string }

/** Throws a Problem when Python is missing. */
export function startPython(): Promise<Reader> {
  return startReader('python3', ['-B', join(import.meta.dirname, 'reader.py')])
}

/** Compiles the program, with the Go that builds Temporal. Throws a Problem when there is none. */
export async function startGo(): Promise<Reader> {
  const options = { report: console.log, signal: AbortSignal.timeout(300_000), cacheDir: cacheFolder(process.env) }
  const go = await goToolchain(options).catch((cause) => {
    throw new Problem('This fuzz target needs Go 1.26.4 or later. Install it: https://go.dev/dl', { cause })
  })
  const folder = await mkdtemp(join(tmpdir(), 'verdict-fuzz-'))
  const program = join(folder, 'reader')
  const build = ['build', '-o', program, join(import.meta.dirname, 'reader.go')]
  await promisify(execFile)(go.program, build, { env: buildEnvironment(go) })
  const reader = await startReader(program, [])
  const stop = async () => {
    await reader.stop()
    await rm(folder, { recursive: true })
  }
  return { ...reader, stop }
}

async function startReader(program: string, args: string[]): Promise<Reader> {
  let running = await launch(program, args)

  async function ask<Value>(task: string, input: unknown): Promise<Answer<Value>> {
    if (running.hasEnded()) running = await launch(program, args)
    return JSON.parse(await running.answerTo(JSON.stringify({ task, input })))
  }

  return { ask, stop: () => running.stop() }
}

async function launch(program: string, args: string[]) {
  const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  const open: PromiseWithResolvers<string>[] = []
  let hasEnded = false
  const { promise: end, resolve: onEnd } = Promise.withResolvers<void>()
  child.once('close', () => {
    hasEnded = true
    for (const { reject } of open.splice(0)) reject(new Error(`${program} ended instead of an answer.`))
    onEnd()
  })
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve)
    child.once('error', () => reject(new Problem(`This fuzz target needs the program ${program}. Install it.`)))
  })
  // The end of the program is reported by its output.
  child.stdin.on('error', () => {})
  createInterface(child.stdout).on('line', (line) => open.shift()?.resolve(line))

  function answerTo(question: string): Promise<string> {
    const answer = Promise.withResolvers<string>()
    open.push(answer)
    child.stdin.write(`${question}\n`)
    return answer.promise
  }

  function stop(): Promise<void> {
    child.stdin.end()
    return end
  }

  return { answerTo, stop, hasEnded: () => hasEnded }
}
