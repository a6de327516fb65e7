import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'

export interface BringUp {
  /** Says to a person how far it is. */
  tell(words: string): void
  /** Ends what is under way. */
  signal: AbortSignal
  /** Where what was brought is kept, and found again by the next who asks. */
  cacheDir: string
}

/** Of this user, for all checkouts (XDG Base Directory Specification: a relative path does not count). */
export function cacheFolder({ XDG_CACHE_HOME = '' }: NodeJS.ProcessEnv): string {
  return join(isAbsolute(XDG_CACHE_HOME) ? XDG_CACHE_HOME : join(homedir(), '.cache'), 'verdict')
}
