import { proxyActivities } from '@temporalio/workflow'
import type { Activities } from './activities.ts'
import { RETENTION_OPTIONS } from './activity-options.ts'

const { dropExpired } = proxyActivities<Activities>(RETENTION_OPTIONS)

/** Drops the days of history that are over; started daily by a Schedule. Gives the tables that are gone. */
export async function retention(): Promise<string[]> {
  return dropExpired()
}
