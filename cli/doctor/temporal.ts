import type { TemporalConfig } from '../../server/config/config.ts'
import type { CheckFinding, DoctorCheck } from './check.ts'
import { failure, ok, skipped, warning } from './check.ts'
import type { Patient, TemporalInspection } from './patient.ts'

const reads = ['TEMPORAL_ADDRESS', 'TEMPORAL_NAMESPACE']

const temporal: DoctorCheck = {
  name: 'temporal',
  about: 'Temporal responds, and has the namespace',
  reads,
  async run(patient) {
    const inspection = await patient.temporal()
    const { temporal } = patient.config
    if (!inspection || !temporal) return skipped('TEMPORAL_ADDRESS is not set: retries and replays need it')
    const { address, namespace } = temporal
    const { fault } = inspection
    if (!fault) return ok(`${address} responds, and has the namespace ${namespace}`)
    if (fault.isMissing)
      return failure(
        `${address} has no namespace ${namespace}: webhook retries wait, and replays fail`,
        `temporal operator namespace create --address ${address} --namespace ${namespace}, or correct TEMPORAL_NAMESPACE.`,
      )
    return failure(
      `${address} does not respond: webhook retries wait, and replays fail (${fault.why.replace(/ *Resolution note:.*/s, '')})`,
      'Check that Temporal runs, TEMPORAL_ADDRESS, and the TLS and the key of TEMPORAL_*.',
    )
  },
}

const worker: DoctorCheck = {
  name: 'worker',
  about: 'a worker polls every task queue',
  reads,
  run: whileUp(async (inspection) => {
    const state = await inspection.worker()
    if (state === 'polling') return ok('a worker polls every task queue')
    if (state === 'unknown') return warning('Temporal does not say who polls', 'Try again.')
    return failure('no worker polls: webhook retries, replays and checks of domains wait', 'Run one: npm run worker')
  }),
}

const schedules: DoctorCheck = {
  name: 'schedules',
  about: 'the Schedule of the daily retention exists and is not paused',
  reads,
  run: whileUp(async (inspection) => {
    const { missing, paused } = await inspection.schedules()
    if (missing.length > 0)
      return failure(
        `${missing.join(' and ')} is missing: history is not dropped`,
        'Run a worker, which creates it: npm run worker. Its log says why it cannot.',
      )
    if (paused.length > 0)
      return warning(
        `${paused.join(' and ')} is paused: history is not dropped`,
        `temporal schedule toggle --unpause --schedule-id ${paused[0]}`,
      )
    return ok('it exists')
  }),
}

const attributes: DoctorCheck = {
  name: 'search_attributes',
  about: 'deliveries can be found in Temporal by their events, messages and endpoints',
  reads,
  run: whileUp(async (inspection, { namespace }) => {
    const missing = await inspection.missingAttributes()
    if (missing.length === 0) return ok('the namespace has all search attributes')
    const { attributesCommand } = await import('../../workflows/set-up-namespace.ts')
    return warning(
      `the namespace lacks ${missing.map(({ name }) => name).join(', ')}: deliveries start without them`,
      `Run a worker, which adds them, or ${attributesCommand(namespace, missing)}`,
    )
  }),
}

/** A check that needs Temporal: skipped while it cannot be used. Another check says why. */
function whileUp(look: (inspection: TemporalInspection, temporal: TemporalConfig) => Promise<CheckFinding>) {
  return async (patient: Patient) => {
    const inspection = await patient.temporal()
    const { temporal } = patient.config
    if (!inspection || !temporal) return skipped('TEMPORAL_ADDRESS is not set')
    return inspection.fault ? skipped('Temporal cannot be used') : look(inspection, temporal)
  }
}

export const TEMPORAL_CHECKS = [temporal, worker, schedules, attributes]
