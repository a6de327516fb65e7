import { command, type Exit, type Print } from './command.ts'
import type { CheckGroup } from './doctor/check.ts'
import { type CheckResult, examine, GROUPS, stateOf } from './doctor/examine.ts'
import { createPatient, type Patient } from './doctor/patient.ts'
import { inColour, reportText } from './doctor/report.ts'
import { environment } from './environment.ts'

const EXITS: Record<ReturnType<typeof stateOf>, Exit> = { ok: 'ok', warning: 'warned', failed: 'failed' }

const NOTES = `
Each check is ok, warning, failed or skipped, and says how to fix it. Exit codes:
0 when none failed or warned, 4 for warnings only, 1 when a check failed. Nothing
is changed and no mail is sent. In production the doctor connects to one public
mail server, to see whether mail can leave; --no-probe does without.
docs/doctor.md lists the checks.`

export const doctorCommand = (print: Print) =>
  command('doctor', 'verdict doctor', `verdict doctor --json | jq '.checks[] | select(.state == "failed")'`)
    .description('Look for everything that would stop mail or hide a failure, and say how to fix it')
    .option('--probe <domain>', 'The domain whose mail server is dialled, in production', 'gmail.com')
    .option('--no-probe', 'Dial no mail server')
    .addHelpText('after', NOTES)
    .action(async ({ probe }) => {
      const patient = createPatient(environment(), probe === false ? undefined : probe)
      await runDoctor(print, patient, GROUPS)
    })

/** Makes the checks of the groups, prints what they found, and lets go of the patient. */
export async function runDoctor(print: Print, patient: Patient, groups: readonly CheckGroup[]): Promise<void> {
  const results = await examineAndClose(patient, groups)
  const state = stateOf(results)
  const json = { state, checks: results.map(shown) }
  print({ json, text: reportText(results), exit: EXITS[state], paint: inColour })
}

async function examineAndClose(patient: Patient, groups: readonly CheckGroup[]): Promise<CheckResult[]> {
  try {
    return await examine(patient, groups)
  } finally {
    await patient.close()
  }
}

const shown = ({ group, name, state, seen, wayOut }: CheckResult) => ({ group, name, state, seen, way_out: wayOut })
