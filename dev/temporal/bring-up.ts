import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'

export interface BringUp {
  /** Reports progress to the user. */
  tell(message: string): void
  /** Ends the download or build. */
  signal: AbortSignal
  /** The folder that stores Temporal's program for later starts. */
  cacheDir: string
}

/** The user's cache for all checkouts. The XDG Base Directory Specification ignores relative paths. */
export function cacheFolder({ XDG_CACHE_HOME = '' }: NodeJS.ProcessEnv): string {
  return join(isAbsolute(XDG_CACHE_HOME) ? XDG_CACHE_HOME : join(homedir(), '.cache'), 'verdict')
}
