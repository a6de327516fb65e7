import { execFile, execFileSync } from 'node:child_process'
import { globSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

export interface Python {
  /** The path of the interpreter. */
  path: string
  /** Such as `3.11`. */
  version: string
}

/**
 * The interpreters of this machine from version `3.<leastMinor>` on that can make virtual environments, the oldest
 * first: Debian's, and those of pyenv.
 */
export function pythons(leastMinor: number): Python[] {
  const paths = globSync(['/usr/bin/python3.+([0-9])', `${homedir()}/.pyenv/versions/3.*/bin/python3`])
  const found = paths.flatMap((path) => {
    const minor = minorOf(path)
    return minor !== undefined && minor >= leastMinor ? [{ path, minor }] : []
  })
  const oneOfEach = [...new Map(found.map((python) => [python.minor, python])).values()]
  return oneOfEach.toSorted((a, b) => a.minor - b.minor).map(({ path, minor }) => ({ path, version: `3.${minor}` }))
}

/** The minor version of an interpreter; undefined when it makes no virtual environments. */
function minorOf(path: string): number | undefined {
  try {
    const program = 'import ensurepip, sys, venv; print(sys.version_info.minor)'
    return Number(execFileSync(path, ['-c', program], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }))
  } catch {
    return undefined
  }
}

/**
 * Installs what a requirements file lists, and nothing else, into the virtual environment `python` of a folder. Returns
 * the folder of the programs.
 */
export async function installRequirements(file: string, folder: string): Promise<string> {
  const environment = join(folder, 'python')
  const programs = join(environment, 'bin')
  await run('/usr/bin/python3', ['-m', 'venv', environment])
  const options = ['--quiet', '--disable-pip-version-check', '--no-deps']
  await run(join(programs, 'pip'), ['install', ...options, '--requirement', file])
  return programs
}
