import { execFile } from 'node:child_process'
import { cp, readFile, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { goToolchain } from '../../dev/temporal/go-toolchain.ts'
import { cacheFolder } from '../../dev/temporal/install-options.ts'
import { openFolder } from './daemon.ts'

// The verifiers in docs/verify, in languages other than TypeScript. test/client/verify-webhook.test.ts has that one.

const VECTORS = resolve('docs/verify/vectors.json')
const PROGRAMS = resolve('test/real/verifiers')
const run = promisify(execFile)

/** Runs every vector through the verifier of a language, and returns the statuses as JSON. */
const RUN: Record<string, () => Promise<{ stdout: string }>> = {
  Python: () => run('/usr/bin/python3', ['-B', join(PROGRAMS, 'main.py')]),
  PHP: () => run('php', [join(PROGRAMS, 'main.php')]),
  async Go() {
    const folder = await openFolder('verifiers')
    await writeFile(join(folder, 'go.mod'), 'module verify.example\n')
    await cp(join(PROGRAMS, 'main.go'), join(folder, 'main.go'))
    await cp('docs/verify/verify.go', join(folder, 'verify/verify.go'), { recursive: true })
    const go = await goToolchain({
      report: () => {},
      signal: AbortSignal.timeout(300_000),
      cacheDir: cacheFolder(process.env),
    })
    return run(go.program, ['run', '.', VECTORS], { cwd: folder, env: { ...process.env, ...go.env } })
  },
}

test.for(Object.keys(RUN))('the verifier in %s responds with the status of every vector', async (language) => {
  const { requests } = JSON.parse(await readFile(VECTORS, 'utf8'))
  const named = (statuses: number[]) => requests.map(({ name }: { name: string }, i: number) => [name, statuses[i]])
  const { stdout } = await RUN[language]!()
  expect(named(JSON.parse(stdout))).toEqual(named(requests.map(({ status }: { status: number }) => status)))
})
