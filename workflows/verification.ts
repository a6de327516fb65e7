import { proxyActivities } from '@temporalio/workflow'
import type { Activities } from './activities.ts'
import { VERIFICATION_OPTIONS } from './activity-options.ts'

const { verifyDue } = proxyActivities<Activities>(VERIFICATION_OPTIONS)

/** Asks DNS about the domains that are due; started each minute by a Schedule. Gives how many, by the status they have since. */
export async function verification(): Promise<Record<string, number>> {
  return verifyDue()
}
