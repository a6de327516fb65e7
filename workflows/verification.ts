import { proxyActivities } from '@temporalio/workflow'
import type { Activities } from './activities.ts'
import { VERIFICATION_OPTIONS } from './activity-options.ts'

const { verifyDue } = proxyActivities<Activities>(VERIFICATION_OPTIONS)

/**
 * Checks the DNS records of the domains that are due. A worker starts it when one is (due-checks.ts). Returns how many
 * domains were checked, by the status that they have now.
 */
export async function verification(): Promise<Record<string, number>> {
  return verifyDue()
}
