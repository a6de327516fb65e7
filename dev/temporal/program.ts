import { execFile } from 'node:child_process'
import { access, constants, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Problem } from '../problem.ts'
import { buildTemporal } from './build.ts'
import { downloadTemporal } from './download.ts'
import type { InstallOptions } from './install-options.ts'
import { TEMPORAL_VERSION } from './version.ts'

/**
 * Returns the path of the program `temporal`: on PATH, in the cache, downloaded by Temporal's SDK, or built from source
 * with Go, which takes minutes. Throws a Problem when none of these works.
 */
export async function temporalProgram(options: InstallOptions): Promise<string> {
  if (await servesOurNeeds('temporal')) return 'temporal'
  const cached = join(options.cacheDir, `temporal-${TEMPORAL_VERSION}-${process.platform}-${process.arch}`)
  if (await isExecutable(cached)) return cached
  await mkdir(options.cacheDir, { recursive: true }).catch((cause) => {
    throw new Problem(`Temporal cannot be stored: ${options.cacheDir} cannot be created (${cause.code}).`, { cause })
  })
  if (!(await downloadTemporal(cached, options))) await buildTemporalOnce(cached, options)
  options.report(`Temporal ${TEMPORAL_VERSION} is installed in ${cached}.`)
  return cached
}

async function buildTemporalOnce(target: string, options: InstallOptions): Promise<void> {
  try {
    await buildTemporal(target, options)
  } catch (error) {
    // Another process may have finished first and deleted the toolchain that both used.
    if (!(await isExecutable(target))) throw error
  }
}

/** An older version has no search attributes, and another program of that name has no such command. */
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
