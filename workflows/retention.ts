import { proxyActivities } from '@temporalio/workflow'
import type { Activities } from './activities.ts'
import { RETENTION_OPTIONS } from './activity-options.ts'

const { dropExpired } = proxyActivities<Activities>(RETENTION_OPTIONS)

/** Drops the days of history whose retention is over. A Schedule starts it daily. Returns the dropped tables. */
export async function retention(): Promise<string[]> {
  return dropExpired()
}
