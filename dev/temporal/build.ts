import { mkdtemp, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { runKept } from '../keeper.ts'
import { Problem } from '../problem.ts'
import { goToolchain } from './go-toolchain.ts'
import type { InstallOptions } from './install-options.ts'
import { TEMPORAL_VERSION } from './version.ts'

const MODULE = fileURLToPath(new URL('.', import.meta.url))
const VERSION_OF = 'github.com/temporalio/cli/internal/temporalcli.Version'
const REPORT_EVERY_MS = 60_000

/**
 * Builds the program in dev/temporal/go.mod to `target`; go.sum fixes all of its sources. Needs no C compiler. Throws a
 * Problem with the end of Go's output when the build fails.
 */
export async function buildTemporal(target: string, options: InstallOptions): Promise<void> {
  const { report, signal } = options
  report(`Temporal ${TEMPORAL_VERSION} is being built with Go, once, which takes about 5 minutes.`)
  const go = await goToolchain(options)
  const work = await mkdtemp(join(options.cacheDir, 'build-'))
  const unfinished = `${target}.${process.pid}.new`
  const output: string[] = []
  const startedAt = performance.now()
  const progress = setInterval(() => {
    const minutes = Math.round((performance.now() - startedAt) / 60_000)
    const packages = output.filter((line) => !line.startsWith('go: ')).length
    report(`Temporal is being built: ${packages} packages after ${minutes} min.`)
  }, REPORT_EVERY_MS)
  const succeeded = await runKept(['nice', '-n', '10', go.program, ...buildArguments(unfinished)], {
    signal,
    remove: work,
    cwd: MODULE,
    env: { ...process.env, ...go.env, GOTMPDIR: work, CGO_ENABLED: '0', GOTOOLCHAIN: 'local', GOWORK: 'off' },
    onStderr: (text) => output.push(...text.trimEnd().split('\n')),
  }).finally(() => clearInterval(progress))
  if (!succeeded) throw new Problem(`Temporal cannot be built with Go:\n${output.slice(-10).join('\n')}`)
  await rename(unfinished, target)
  if (go.folder) await rm(go.folder, { recursive: true, force: true })
}

/**
 * With `-v`, Go names each package as it compiles it. Without debug information for the linker to remove, the compiler
 * takes a quarter less of the processors' time.
 */
function buildArguments(target: string): string[] {
  const link = `-s -w -X ${VERSION_OF}=${TEMPORAL_VERSION}`
  const flags = ['-v', '-trimpath', '-gcflags=all=-dwarf=false', '-ldflags', link]
  return ['build', ...flags, '-o', target, 'github.com/temporalio/cli/cmd/temporal']
}
