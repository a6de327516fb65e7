import { execFile } from 'node:child_process'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, expect, test } from 'vitest'
import { goToolchain } from '../../dev/temporal/go-toolchain.ts'
import { cacheFolder } from '../../dev/temporal/install-options.ts'
import { openFolder } from './daemon.ts'

// The conformance suite of the Connect project calls a server with its reference client, from Go's module proxy.

const MODULE = 'connectrpc.com/conformance'
const VERSION = 'v1.0.7'
const FILES = resolve('test/real/conformance')
const DOWNLOAD_AND_COMPILE_MS = 600_000

const run = promisify(execFile)
let folder: string
let descriptors: string
let runner: string

beforeAll(async () => {
  folder = await openFolder('conformance')
  const signal = AbortSignal.timeout(DOWNLOAD_AND_COMPILE_MS)
  const go = await goToolchain({ report: () => {}, signal, cacheDir: cacheFolder(process.env) })
  const env = { ...process.env, ...go.env, GOBIN: folder }
  await run(go.program, ['install', `${MODULE}/cmd/connectconformance@${VERSION}`], { env })
  runner = join(folder, 'connectconformance')
  const { stdout } = await run(go.program, ['mod', 'download', '-json', `${MODULE}@${VERSION}`], { env, cwd: folder })
  descriptors = join(folder, 'descriptors.binpb')
  await run('node_modules/.bin/buf', ['build', join(JSON.parse(stdout).Dir, 'proto'), '--output', descriptors])
}, DOWNLOAD_AND_COMPILE_MS)

test('gRPC, gRPC-Web and Connect pass the conformance suite of Connect, but for the failures that we list', async () => {
  const options = ['--mode', 'server', '--conf', join(FILES, 'features.yaml')]
  const known = ['--known-failing', `@${join(FILES, 'known-failing.txt')}`]
  const server = [process.execPath, join(FILES, 'server.ts'), descriptors]
  const { stdout } = await run(runner, [...options, ...known, '--', ...server]).catch(({ stdout, stderr }) =>
    expect.fail(`${stdout}\n${stderr}`.slice(-8_000)),
  )
  expect(stdout).toMatch(/, 0 failed/)
})
