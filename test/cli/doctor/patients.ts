import { randomBytes } from 'node:crypto'
import type { CheckFinding } from '../../../cli/doctor/check.ts'
import { findingOf, GROUPS } from '../../../cli/doctor/examine.ts'
import { createPatient } from '../../../cli/doctor/patient.ts'

export const ENCRYPTION_KEYS = `k1:${randomBytes(32).toString('base64')}`

/** What production needs besides the database. */
export const PRODUCTION = {
  NODE_ENV: 'production',
  PUBLIC_URL: 'https://api.example.test',
  DATA_REGION: 'eu',
  TEMPORAL_ADDRESS: '127.0.0.1:9',
}

/** The result of one check in an environment. No other check is made. */
export async function diagnose(name: string, env: Record<string, string>): Promise<CheckFinding> {
  const check = GROUPS.flatMap(({ checks }) => checks).find((each) => each.name === name)!
  const patient = createPatient({ DATABASE_URL: 'postgres://127.0.0.1:1/none', ENCRYPTION_KEYS, ...env }, 'probe.test')
  try {
    return await findingOf(check, patient)
  } finally {
    await patient.close()
  }
}
