import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'

/** For the functions that install Temporal's program in a cache. */
export interface InstallOptions {
  /** Reports progress to the user. */
  report(message: string): void
  /** Aborts the download or build. */
  signal: AbortSignal
  /** The folder that stores Temporal's program for later starts. */
  cacheDir: string
}

/** The user's cache for all checkouts. The XDG Base Directory Specification ignores relative paths. */
export function cacheFolder({ XDG_CACHE_HOME = '' }: NodeJS.ProcessEnv): string {
  return join(isAbsolute(XDG_CACHE_HOME) ? XDG_CACHE_HOME : join(homedir(), '.cache'), 'verdict')
}
