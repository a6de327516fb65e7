import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { access, mkdir, readFile, rename } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { buildEnvironment, goToolchain } from '../../dev/temporal/go-toolchain.ts'
import { cacheFolder } from '../../dev/temporal/install-options.ts'

const BUILD_MS = 900_000
const run = promisify(execFile)

/**
 * Builds a program of a Go module once for all checkouts of a machine, and returns its path. The module's folder,
 * below this one, has the name of the program.
 */
export async function goProgram(name: string, packagePath: string): Promise<string> {
  const module = resolve('test/real', name)
  const cacheDir = cacheFolder(process.env)
  const sums = createHash('sha256').update(await readFile(join(module, 'go.sum')))
  const program = join(cacheDir, `${name}-${sums.digest('hex').slice(0, 12)}`)
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
  const command = [go.program, 'build', ...flags, '-o', unfinished, packagePath]
  await run('nice', ['-n', '10', ...command], { cwd: module, env: buildEnvironment(go), signal })
  await rename(unfinished, program)
  return program
}
