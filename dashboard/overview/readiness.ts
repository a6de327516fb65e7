import type { HealthFinding } from './finding.ts'

/** The state of each thing that the server depends on, as `/readyz` names it. */
export type ReadinessChecks = Record<string, string>

/** Reads `/readyz`. Without checks where something in front of the server hides that path. */
export async function readChecks({ signal }: { signal: AbortSignal }): Promise<ReadinessChecks> {
  const response = await fetch('/readyz', { signal })
  const body = (await response.json().catch(() => undefined)) as { checks?: ReadinessChecks } | undefined
  return body?.checks ?? {}
}

const NO_MAIL = 'No mail is sent: every send fails before anything leaves, and can be repeated.'
const STILL_DONE = 'Mail is sent, and the first attempt of each event is made.'

/** What each fault stops, what goes on, and what the operator does. The worst first. */
const FAULTS: [check: string, state: string, finding: Pick<HealthFinding, 'tone' | 'sentence'>][] = [
  [
    'database',
    'failing',
    { tone: 'error', sentence: `The database does not respond. ${NO_MAIL} Your operator brings PostgreSQL back.` },
  ],
  [
    'database',
    'disk_full',
    { tone: 'error', sentence: `The disk of the database is full. ${NO_MAIL} Your operator makes room on it.` },
  ],
  [
    'database',
    'read_only',
    {
      tone: 'error',
      sentence: `The database is read-only. ${NO_MAIL} Your operator makes its primary accept writes again.`,
    },
  ],
  [
    'migrations',
    'pending',
    {
      tone: 'error',
      sentence: 'The database lacks tables of this version. Your operator runs npm run migrate.',
    },
  ],
  [
    'migrations',
    'unreleased',
    {
      tone: 'error',
      sentence:
        'An unreleased version of Verdict made the database. Your operator restores a back-up of the last release.',
    },
  ],
  [
    'migrations',
    'outgrown',
    {
      tone: 'error',
      sentence: 'The database belongs to a later version of Verdict. Your operator starts that version.',
    },
  ],
  [
    'temporal',
    'degraded',
    {
      tone: 'error',
      sentence: `Temporal does not respond. ${STILL_DONE} Retries and checks of domains wait, and replays are refused. Your operator brings Temporal back, or corrects TEMPORAL_ADDRESS.`,
    },
  ],
  [
    'worker',
    'none',
    {
      tone: 'error',
      sentence: `No worker runs. ${STILL_DONE} Retries, replays and checks of domains wait, and none is lost. Your operator starts the worker with npm run worker.`,
    },
  ],
]

/** What is wrong with the installation. All of its accounts share it. */
export function faultsOf(checks: ReadinessChecks): HealthFinding[] {
  return FAULTS.filter(([check, state]) => checks[check] === state).map(([, , finding]) => finding)
}
