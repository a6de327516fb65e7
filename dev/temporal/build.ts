import { mkdtemp, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { runKept } from '../keeper.ts'
import { Problem } from '../problem.ts'
import type { BringUp } from './bring-up.ts'
import { goToolchain } from './go-toolchain.ts'
import { TEMPORAL_VERSION } from './version.ts'

const MODULE = fileURLToPath(new URL('.', import.meta.url))
const VERSION_OF = 'github.com/temporalio/cli/internal/temporalcli.Version'
const TOLD_EVERY_MS = 60_000

/**
 * Builds the program of dev/temporal/go.mod to `target`, all of its sources fixed by go.sum. Needs no C compiler. Throws a Problem with
 * the last words of Go when that fails.
 */
export async function buildTemporal(target: string, bringUp: BringUp): Promise<void> {
  const { tell, signal } = bringUp
  tell(`Temporal ${TEMPORAL_VERSION} is being built with Go, once, which takes about 5 minutes.`)
  const go = await goToolchain(bringUp)
  const work = await mkdtemp(join(bringUp.cacheDir, 'build-'))
  const unfinished = `${target}.${process.pid}.new`
  const said: string[] = []
  const startedAt = performance.now()
  const telling = setInterval(() => {
    const minutes = Math.round((performance.now() - startedAt) / 60_000)
    const packages = said.filter((line) => !line.startsWith('go: ')).length
    tell(`Temporal is being built: ${packages} packages after ${minutes} min.`)
  }, TOLD_EVERY_MS)
  const built = await runKept(['nice', '-n', '10', go.program, ...build(unfinished)], {
    signal,
    remove: work,
    cwd: MODULE,
    env: { ...process.env, ...go.env, GOTMPDIR: work, CGO_ENABLED: '0', GOTOOLCHAIN: 'local', GOWORK: 'off' },
    heard: (text) => said.push(...text.trimEnd().split('\n')),
  }).finally(() => clearInterval(telling))
  if (!built) throw new Problem(`Temporal cannot be built with Go:\n${said.slice(-10).join('\n')}`)
  await rename(unfinished, target)
  if (go.folder) await rm(go.folder, { recursive: true, force: true })
}

/** `-v` names each package as it is compiled. */
function build(target: string): string[] {
  const flags = ['-v', '-trimpath', '-ldflags', `-s -w -X ${VERSION_OF}=${TEMPORAL_VERSION}`]
  return ['build', ...flags, '-o', target, 'github.com/temporalio/cli/cmd/temporal']
}
