import { execFileSync } from 'node:child_process'

/**
 * The commit of `origin/main` that this work began at. It is `HEAD~1` where HEAD is in that branch itself, and in a
 * clone without it.
 */
export function lastLanded(folder = '.'): string {
  try {
    const base = git(folder, 'merge-base', 'origin/main', 'HEAD')
    return base === git(folder, 'rev-parse', 'HEAD') ? 'HEAD~1' : base
  } catch {
    return 'HEAD~1'
  }
}

/** The files that differ from a commit. Undefined when the commit is not in this clone. */
export function changedSince(commit: string): string[] | undefined {
  try {
    return git('.', 'diff', '--name-only', '--no-renames', commit, '--').split('\n').filter(Boolean)
  } catch {
    return undefined
  }
}

/** Whether one of the files is in what a target covers, or belongs to the targets themselves. */
export function isConcerned(covers: readonly string[], files: readonly string[]): boolean {
  return files.some((file) => ['fuzz/', ...covers].some((folder) => file === folder || file.startsWith(folder)))
}

const git = (folder: string, ...args: string[]) =>
  execFileSync('git', ['-C', folder, ...args], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trimEnd()
