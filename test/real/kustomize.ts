import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { access, mkdir, readFile, rename } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { buildEnvironment, goToolchain } from '../../dev/temporal/go-toolchain.ts'
import { cacheFolder } from '../../dev/temporal/install-options.ts'

const MODULE = resolve('test/real/kustomize')
const BUILD_MS = 600_000
const run = promisify(execFile)

/** Builds kustomize from its Go module once for all checkouts of a machine, and returns the program's path. */
export async function kustomizeProgram(): Promise<string> {
  const cacheDir = cacheFolder(process.env)
  const sums = createHash('sha256').update(await readFile(join(MODULE, 'go.sum')))
  const program = join(cacheDir, `kustomize-${sums.digest('hex').slice(0, 12)}`)
  const isBuilt = await access(program).then(
    () => true,
    () => false,
  )
  if (isBuilt) return program
  await mkdir(cacheDir, { recursive: true })
  const signal = AbortSignal.timeout(BUILD_MS)
  const go = await goToolchain({ report: () => {}, signal, cacheDir })
  const unfinished = `${program}.${process.pid}.new`
  const flags = ['-trimpath', '-gcflags=all=-dwarf=false', '-ldflags', '-s -w']
  const command = [go.program, 'build', ...flags, '-o', unfinished, 'sigs.k8s.io/kustomize/kustomize/v5']
  await run('nice', ['-n', '10', ...command], { cwd: MODULE, env: buildEnvironment(go), signal })
  await rename(unfinished, program)
  return program
}
