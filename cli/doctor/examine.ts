import { inTime } from '../../server/async/timeout.ts'
import { archive } from './archive.ts'
import { CERTIFICATE_CHECKS } from './certificate.ts'
import { type CheckFinding, type CheckGroup, type CheckState, type DoctorCheck, failure, skipped } from './check.ts'
import { CLUSTER_CHECKS } from './cluster.ts'
import { CONFIGURATION_CHECKS } from './configuration.ts'
import { DATABASE_CHECKS } from './database.ts'
import { INTERNET_CHECKS } from './internet.ts'
import { MACHINE_CHECKS } from './machine.ts'
import { MAIL_CHECKS } from './mail.ts'
import type { Patient } from './patient.ts'
import { REPLICA_CHECKS } from './replica.ts'
import { SERVICE_CHECKS } from './service.ts'
import { SIGN_IN_CHECKS } from './sign-in.ts'
import { STORAGE_CHECKS } from './storage.ts'
import { TEMPORAL_CHECKS } from './temporal.ts'
import { TRANSACTION_CHECKS } from './transactions.ts'

export const GROUPS: readonly CheckGroup[] = [
  { title: 'Configuration', checks: [...CONFIGURATION_CHECKS, ...CERTIFICATE_CHECKS] },
  { title: 'This machine', checks: MACHINE_CHECKS },
  { title: 'The Internet', checks: INTERNET_CHECKS },
  { title: 'Database', checks: [...DATABASE_CHECKS, ...REPLICA_CHECKS, ...STORAGE_CHECKS, archive] },
  { title: 'PostgreSQL server', checks: [...CLUSTER_CHECKS, ...TRANSACTION_CHECKS] },
  { title: 'Temporal', checks: TEMPORAL_CHECKS },
  { title: 'Mail and webhooks', checks: [...SERVICE_CHECKS, ...MAIL_CHECKS] },
  { title: 'Sign-in', checks: SIGN_IN_CHECKS },
]

export interface CheckResult extends CheckFinding {
  group: string
  name: string
}

/** With the time that closing connections takes, a diagnosis takes less than 15 s. */
const CHECK_MS = 12_000

/** Makes all checks of the groups at the same time. The results are in the order of the table. */
export function examine(patient: Patient, groups = GROUPS): Promise<CheckResult[]> {
  return Promise.all(
    groups.flatMap(({ title, checks }) =>
      checks.map(async (check) => ({ group: title, name: check.name, ...(await findingOf(check, patient)) })),
    ),
  )
}

/** Makes one check. A check that throws or takes too long has failed. */
export async function findingOf(check: DoctorCheck, patient: Patient): Promise<CheckFinding> {
  const invalid = check.reads?.find((name) => patient.faults.some((fault) => fault.name === name))
  if (invalid) return skipped(`${invalid} is missing or invalid`)
  const late = () => new Error(`no result within ${CHECK_MS / 1_000} s`)
  try {
    return await inTime((async () => check.run(patient))(), CHECK_MS, late)
  } catch (error) {
    return failure(`could not be examined: ${(error as Error).message}`, 'Try again, and look at the log of the API.')
  }
}

/** The state of a whole diagnosis. */
export function stateOf(results: readonly CheckResult[]): Exclude<CheckState, 'skipped'> {
  const has = (state: CheckState) => results.some((result) => result.state === state)
  return has('failed') ? 'failed' : has('warning') ? 'warning' : 'ok'
}
