import { execFile } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, expect, test } from 'vitest'
import { goToolchain } from '../../dev/temporal/go-toolchain.ts'
import { cacheFolder } from '../../dev/temporal/install-options.ts'
import { documentedCalls, startEcho } from '../docs/samples.ts'
import { untilEnd } from '../harness/until-end.ts'
import { openFolder } from './daemon.ts'

// The samples of the reference in Python and Go. test/docs/samples.process.test.ts runs the others.

const run = promisify(execFile)
const CALLS = documentedCalls()

let folder: string
let echo: Awaited<ReturnType<typeof startEcho>>
beforeAll(async () => {
  folder = await openFolder('samples')
  echo = untilEnd(await startEcho())
})
const sources = (label: string) => CALLS.map(({ samples }) => samples.find((sample) => sample.label === label)!.source)

test('the Python samples make the requests of the examples', async () => {
  echo.seen.length = 0
  await run('python3', ['-m', 'venv', join(folder, 'venv')])
  const python = join(folder, 'venv/bin/python')
  await run(python, ['-m', 'pip', 'install', '--quiet', 'requests==2.34.2'])
  await run(python, ['-c', sources('Python').join('\n')], { env: echo.env })
  expect(echo.seen).toEqual(CALLS.map(({ expected }) => expected))
})

test('the Go samples compile and make the requests of the examples', async () => {
  echo.seen.length = 0
  const signal = AbortSignal.timeout(600_000)
  const go = await goToolchain({ report: () => {}, signal, cacheDir: cacheFolder(process.env) })
  for (const [i, source] of sources('Go').entries()) {
    await mkdir(join(folder, `call-${i}`))
    await writeFile(join(folder, `call-${i}`, 'main.go'), `${source}\n`)
  }
  await writeFile(join(folder, 'go.mod'), 'module samples\n\ngo 1.21\n')
  await mkdir(join(folder, 'bin'))
  await run(go.program, ['build', '-o', 'bin/', './...'], { cwd: folder, env: { ...process.env, ...go.env } })
  for (const i of CALLS.keys()) await run(join(folder, 'bin', `call-${i}`), { env: echo.env })
  expect(echo.seen).toEqual(CALLS.map(({ expected }) => expected))
})
