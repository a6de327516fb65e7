import { execFile } from 'node:child_process'
import { access, constants, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Problem } from '../problem.ts'
import type { BringUp } from './bring-up.ts'
import { buildTemporal } from './build.ts'
import { downloadTemporal } from './download.ts'
import { TEMPORAL_VERSION } from './version.ts'

/**
 * The program `temporal`: the one on PATH, the one in the cache, the one that Temporal's SDK downloads, or one that is built with Go
 * from its sources, which takes minutes. Throws a Problem when it cannot be had.
 */
export async function temporalProgram(bringUp: BringUp): Promise<string> {
  if (await servesOurNeeds('temporal')) return 'temporal'
  const cached = join(bringUp.cacheDir, `temporal-${TEMPORAL_VERSION}-${process.platform}-${process.arch}`)
  if (await isExecutable(cached)) return cached
  await mkdir(bringUp.cacheDir, { recursive: true }).catch((cause) => {
    throw new Problem(`There is no folder for Temporal: ${bringUp.cacheDir} cannot be made (${cause.code}).`, { cause })
  })
  if (!(await downloadTemporal(cached, bringUp))) await buildTemporalOnce(cached, bringUp)
  bringUp.tell(`Temporal ${TEMPORAL_VERSION} is here, kept in ${cached}.`)
  return cached
}

async function buildTemporalOnce(target: string, bringUp: BringUp): Promise<void> {
  try {
    await buildTemporal(target, bringUp)
  } catch (error) {
    // Another process may have been faster, and have taken away what both built from.
    if (!(await isExecutable(target))) throw error
  }
}

/** An older one knows no search attributes; another program of that name knows nothing of all this. */
async function servesOurNeeds(program: string): Promise<boolean> {
  const help = promisify(execFile)(program, ['server', 'start-dev', '--help'], { timeout: 5000 })
  return help.then(
    ({ stdout }) => stdout.includes('--search-attribute'),
    () => false,
  )
}

function isExecutable(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  )
}
