import { execFile } from 'node:child_process'
import { access, constants, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Problem } from '../problem.ts'
import { buildTemporal, type TemporalProgram } from './build.ts'
import { downloadTemporal } from './download.ts'
import type { InstallOptions } from './install-options.ts'
import { SERVER_VERSION, TEMPORAL_VERSION } from './version.ts'

/**
 * Returns the path of the program `temporal`: on PATH, in the cache, downloaded by Temporal's SDK, or built from source
 * with Go, which takes minutes. Throws a Problem when none of these works.
 */
export async function temporalProgram(options: InstallOptions): Promise<string> {
  return (await temporalPrograms(['temporal'], options)).temporal
}

/** Returns the path of each program as `temporalProgram` does; those of a cluster are in the cache, or built. */
export async function temporalPrograms<P extends TemporalProgram>(
  programs: readonly P[],
  options: InstallOptions,
): Promise<Record<P, string>> {
  const paths = new Map<P, string>()
  const missing = new Map<TemporalProgram, string>()
  for (const program of programs) {
    const path = (await isOnPath(program)) ? program : cachedPath(program, options)
    paths.set(program, path)
    if (path === program || (await isExecutable(path))) continue
    await createFolder(options.cacheDir)
    if (program === 'temporal' && (await downloadTemporal(path, options))) reportInstalled(path, options)
    else missing.set(program, path)
  }
  if (missing.size > 0) {
    await buildOnce(missing, options)
    for (const path of missing.values()) reportInstalled(path, options)
  }
  return Object.fromEntries(paths) as Record<P, string>
}

const cachedPath = (program: TemporalProgram, { cacheDir }: InstallOptions) => {
  const version = program === 'temporal' ? TEMPORAL_VERSION : SERVER_VERSION
  return join(cacheDir, `${program}-${version}-${process.platform}-${process.arch}`)
}

const reportInstalled = (path: string, { report }: InstallOptions) =>
  report(`Temporal ${TEMPORAL_VERSION} is installed in ${path}.`)

async function createFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true }).catch((cause) => {
    throw new Problem(`Temporal cannot be stored: ${folder} cannot be created (${cause.code}).`, { cause })
  })
}

async function buildOnce(targets: Map<TemporalProgram, string>, options: InstallOptions): Promise<void> {
  try {
    await buildTemporal(targets, options)
  } catch (error) {
    // Another process may have finished first and deleted the toolchain that both used.
    for (const path of targets.values()) if (!(await isExecutable(path))) throw error
  }
}

/**
 * Whether the program on PATH serves our needs: an older `temporal` has no search attributes, and another program of
 * that name has no such command. A cluster is tested with one version.
 */
async function isOnPath(program: TemporalProgram): Promise<boolean> {
  if (program !== 'temporal') return false
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
