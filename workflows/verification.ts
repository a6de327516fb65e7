import { proxyActivities } from '@temporalio/workflow'
import type { Activities } from './activities.ts'
import { VERIFICATION_OPTIONS } from './activity-options.ts'

const { verifyDue } = proxyActivities<Activities>(VERIFICATION_OPTIONS)

/**
 * Checks the DNS records of the domains that are due. Workers start it when one is (`startDueChecks`). Returns how many domains were
 * checked, by the status that they have now.
 */
export async function verification(): Promise<Record<string, number>> {
  return verifyDue()
}
