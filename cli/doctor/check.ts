import type { Database } from '../../server/db/connect.ts'
import { databaseFault, NO_TABLES } from '../../server/db/database-fault.ts'
import type { Patient } from './patient.ts'

export type CheckState = 'ok' | 'warning' | 'failed' | 'skipped'

export interface CheckFinding {
  state: CheckState
  seen: string
  /** What the operator can do. */
  wayOut?: string
}

export interface DoctorCheck {
  name: string
  /** What holds while the check is `ok`, for the guide. */
  about: string
  /** The variables it reads. While one of them is invalid, the check is skipped. */
  reads?: string[]
  run(patient: Patient): CheckFinding | Promise<CheckFinding>
}

export interface CheckGroup {
  title: string
  checks: DoctorCheck[]
}

type RunCheck = DoctorCheck['run']

export const ok = (seen: string): CheckFinding => ({ state: 'ok', seen })
export const skipped = (seen: string): CheckFinding => ({ state: 'skipped', seen })
export const warning = (seen: string, wayOut: string): CheckFinding => ({ state: 'warning', seen, wayOut })
export const failure = (seen: string, wayOut: string): CheckFinding => ({ state: 'failed', seen, wayOut })

/** How many names a finding lists. */
const SHOWN = 3

/** The first of several names, and how many more there are. */
export function firstOf(names: readonly string[]): string {
  const more = names.length - SHOWN
  return names.slice(0, SHOWN).join(', ') + (more > 0 ? ` and ${more} more` : '')
}

/** The worst of several findings, with the texts of all that are as bad. */
export function worstOf(findings: readonly CheckFinding[]): CheckFinding {
  const states = findings.map(({ state }) => state)
  const state = (['failed', 'warning', 'skipped'] as const).find((each) => states.includes(each)) ?? 'ok'
  const worst = findings.filter((finding) => finding.state === state)
  const wayOut = [...new Set(worst.map((finding) => finding.wayOut).filter((text) => text !== undefined))].join(' ')
  const seen = [...new Set(worst.map((finding) => finding.seen))].join('. ')
  return { state, seen, ...(wayOut && { wayOut }) }
}

/** A check of what only mail to the Internet needs. A development machine sends to `simulator.test`. */
export function inProduction(run: RunCheck): RunCheck {
  return (patient) => (patient.config.production ? run(patient) : skipped('only production needs it'))
}

/** A check that needs the tables: skipped while there are none. Other checks say why. */
export function onTables(look: (db: Database, patient: Patient) => Promise<CheckFinding>): RunCheck {
  return async (patient) => {
    const db = await patient.database().catch(() => undefined)
    if (!db) return skipped('the database cannot be used')
    return look(db, patient).catch((error) => {
      if (databaseFault(error) === NO_TABLES) return skipped('the database has no tables of Verdict')
      throw error
    })
  }
}
