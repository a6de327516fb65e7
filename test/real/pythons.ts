import { execFileSync } from 'node:child_process'
import { globSync } from 'node:fs'
import { homedir } from 'node:os'

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
