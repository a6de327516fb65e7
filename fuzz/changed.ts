import { execFileSync } from 'node:child_process'

/** The files that differ from a commit. Undefined when the commit is not in this clone. */
export function changedSince(commit: string): string[] | undefined {
  try {
    const git = ['diff', '--name-only', '--no-renames', commit, '--']
    return execFileSync('git', git, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
      .split('\n')
      .slice(0, -1)
  } catch {
    return undefined
  }
}

/** Whether one of the files is in what a target covers, or belongs to the targets themselves. */
export function isConcerned(covers: readonly string[], files: readonly string[]): boolean {
  return files.some((file) => ['fuzz/', ...covers].some((folder) => file === folder || file.startsWith(folder)))
}
