import { mkdtemp, rename, rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { runKept } from '../keeper.ts'
import { Problem } from '../problem.ts'
import { buildEnvironment, goToolchain } from './go-toolchain.ts'
import type { InstallOptions } from './install-options.ts'
import { TEMPORAL_VERSION } from './version.ts'

/** The programs of the module dev/temporal/go.mod: the development server, and those of a cluster. */
const PACKAGES = {
  temporal: 'github.com/temporalio/cli/cmd/temporal',
  'temporal-server': 'go.temporal.io/server/cmd/server',
  'temporal-sql-tool': 'go.temporal.io/server/cmd/tools/sql',
}
export type TemporalProgram = keyof typeof PACKAGES

const MODULE = fileURLToPath(new URL('.', import.meta.url))
const VERSION_OF = 'github.com/temporalio/cli/internal/temporalcli.Version'
const REPORT_EVERY_MS = 60_000

/**
 * Builds programs, each to its path; go.sum fixes all of their sources. They share nearly all packages, so all of them
 * together take little more time than one. Needs no C compiler. Throws a Problem with the end of Go's output when the
 * build fails.
 */
export async function buildTemporal(targets: Map<TemporalProgram, string>, options: InstallOptions): Promise<void> {
  const { report, signal } = options
  report(`Temporal ${TEMPORAL_VERSION} is being built with Go, once, which takes about 5 minutes.`)
  const go = await goToolchain(options)
  const work = await mkdtemp(join(options.cacheDir, 'build-'))
  const unfinished = await mkdtemp(join(options.cacheDir, 'unfinished-'))
  const output: string[] = []
  const startedAt = performance.now()
  const progress = setInterval(() => {
    const minutes = Math.round((performance.now() - startedAt) / 60_000)
    const packages = output.filter((line) => !line.startsWith('go: ')).length
    report(`Temporal is being built: ${packages} packages after ${minutes} min.`)
  }, REPORT_EVERY_MS)
  try {
    const command = ['nice', '-n', '10', go.program, ...buildArguments([...targets.keys()], unfinished)]
    const succeeded = await runKept(command, {
      signal,
      remove: work,
      cwd: MODULE,
      env: { ...buildEnvironment(go), GOTMPDIR: work },
      onStderr: (text) => output.push(...text.trimEnd().split('\n')),
    })
    if (!succeeded) throw new Problem(`Temporal cannot be built with Go:\n${output.slice(-10).join('\n')}`)
    for (const [program, target] of targets) await rename(join(unfinished, basename(PACKAGES[program])), target)
  } finally {
    clearInterval(progress)
    await rm(unfinished, { recursive: true })
  }
  if (go.folder) await rm(go.folder, { recursive: true, force: true })
}

/**
 * Go names each program in the folder after the last part of its package. With `-v`, it names each package as it
 * compiles it. Without debug information for the linker to remove, the compiler takes a quarter less of the processors'
 * time.
 */
function buildArguments(programs: TemporalProgram[], folder: string): string[] {
  const link = `-s -w -X ${VERSION_OF}=${TEMPORAL_VERSION}`
  const flags = ['-v', '-trimpath', '-gcflags=all=-dwarf=false', '-ldflags', link]
  return ['build', ...flags, '-o', `${folder}/`, ...programs.map((program) => PACKAGES[program])]
}
