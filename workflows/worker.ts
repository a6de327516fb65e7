import { Client } from '@temporalio/client'
import { DefaultLogger, makeTelemetryFilterString, Runtime } from '@temporalio/worker'
import type { Logger } from 'pino'
import { createGuard } from '../net/guard.ts'
import packageJson from '../package.json' with { type: 'json' }
import { runEvery } from '../server/async/run-every.ts'
import type { Config } from '../server/config/config.ts'
import { removeContents } from '../server/db/contents.ts'
import { dropExpired } from '../server/db/drop-expired.ts'
import { publicId } from '../server/db/ids.ts'
import { firstKeptHour } from '../server/db/retention.ts'
import type { Domain } from '../server/domains/domains.ts'
import { createDomainVerification, isCheckDue } from '../server/domains/verification.ts'
import { createArchiveHistory } from '../server/process/archive-history.ts'
import { domainChecks } from '../server/process/domain-checks.ts'
import { type Program, runProcess } from '../server/process/program.ts'
import { createProcessAttempts } from '../server/process/webhook-attempts.ts'
import { rollUpDays } from '../server/reputation/merge-statistics.ts'
import { rollUpGroups } from '../server/reputation/open-statistics.ts'
import { countTasks } from '../server/telemetry/tasks.ts'
import { countWorkflows, watchTemporal } from '../server/telemetry/watch-parts.ts'
import { finishDispatches } from '../server/webhooks/attempt/end.ts'
import { failingEndpoints } from '../server/webhooks/endpoints/endpoint-health.ts'
import { keepHandingOver } from '../server/webhooks/queue/hand-over.ts'
import type { Workflows } from '../server/webhooks/queue/workflows.ts'
import { createRangeReplays, resumeReplays } from '../server/webhooks/replays/range-replays.ts'
import { type Activities, createActivities } from './activities.ts'
import { createWorkflows } from './client.ts'
import { lazyConnection } from './connection.ts'
import { createStartDueChecks } from './due-checks.ts'
import { namespaceFault } from './inspection.ts'
import { activityInterceptors, clientInterceptors } from './interceptors.ts'
import { keepWorking } from './run-workers.ts'
import { createSetUp } from './set-up-namespace.ts'
import { HEALTH_MS } from './temporal.ts'
import { createTroubles } from './troubles.ts'

// `npm run worker`: configuration -> database -> activities -> Temporal -> hand-over and work -> drain.

/** The set-up is repeated, because another client of Temporal may remove what it created. */
const SET_UP_EVERY_MS = 60_000
/** How soon the workflow of a replay is started again that a crash or Temporal has lost. */
const RESUME_EVERY_MS = 30_000
/** How late the check of a domain may begin. */
const CHECK_EVERY_MS = 15_000
const WARN_EVERY_MS = 3_600_000

// The subjects of troubles.
const TEMPORAL = 'Temporal'
const NAMESPACE = 'the namespace in Temporal'
const HAND_OVER = 'the hand-over of webhooks'
const REPLAYS = 'the start of replays'
const CHECKS = 'the start of checks of domains'

await runProcess({ name: 'worker', check: (config) => void temporalOf(config), start })

function temporalOf({ temporal }: Config) {
  if (!temporal) throw new Error('TEMPORAL_ADDRESS is not set: without Temporal a worker has nothing to do.')
  return temporal
}

async function start(program: Program): Promise<object> {
  const { config, log, metrics, tracing, ends } = program
  const task = countTasks(metrics)
  const temporal = temporalOf(config)
  installLogger(log)
  const stopping = new AbortController()
  const connection = lazyConnection(temporal)
  ends.defer(() => connection.close())
  const { namespace } = temporal
  const starter = createWorkflows({
    ...{ connection, namespace, scheduleMs: config.webhookSchedule, tracing },
    interceptors: await clientInterceptors(tracing),
    onMissingAttributes: (names) =>
      log.warn({ names }, 'the namespace in Temporal lacks search attributes: workflows start without them'),
  })
  const workflows = countWorkflows(starter, metrics)
  watchTemporal(metrics, () =>
    connection.withDeadline(Date.now() + HEALTH_MS, async () => !(await namespaceFault(connection, namespace))),
  )
  const activities = startActivities(program, { workflows, task, stopping: stopping.signal })
  const troubles = createTroubles(log)
  const prepare = watched(troubles, NAMESPACE, createSetUp(new Client({ connection, namespace })))
  const working = keepWorking({
    temporal,
    activities,
    activityInterceptors: await activityInterceptors(tracing),
    stopping: stopping.signal,
    async onConnect() {
      troubles.resolve(TEMPORAL)
      await prepare()
    },
    onError: (error) => troubles.report(TEMPORAL, error),
  })
  ends.defer(() => working)
  repeat(program, SET_UP_EVERY_MS, prepare)
  startHandingOver(program, { workflows, task, troubles })
  const startChecks = createStartDueChecks(() => isCheckDue(program.db), connection, namespace)
  repeat(program, CHECK_EVERY_MS, watched(troubles, CHECKS, task('verification', startChecks)))
  const startLostReplays = task('resume_replays', () => resumeReplays(program.db, workflows))
  repeat(program, RESUME_EVERY_MS, watched(troubles, REPLAYS, startLostReplays))
  warnOfFailingEndpoints(program)
  ends.defer(() => {
    log.info('draining')
    stopping.abort()
  })
  log.info({ version: packageJson.version, temporal: temporal.address }, 'ready')
  return { ready: true }
}

type Troubles = ReturnType<typeof createTroubles>

/** Returns the work as a function that logs when its trouble begins and when it is over, and never rejects. */
function watched(troubles: Troubles, subject: string, work: () => Promise<unknown>): () => Promise<void> {
  return () =>
    work().then(
      () => troubles.resolve(subject),
      (error) => troubles.report(subject, error),
    )
}

function repeat({ ends }: Program, everyMs: number, work: () => Promise<void>): void {
  const repeated = runEvery(everyMs, work, () => {})
  ends.defer(() => repeated.stop())
}

function startHandingOver(
  { config, db, log, metrics, ends }: Program,
  { workflows, task, troubles }: Omit<ActivitiesParts, 'stopping'> & { troubles: Troubles },
): void {
  const handOver = keepHandingOver({
    db,
    workflows,
    scheduleMs: config.webhookSchedule,
    wrap: (pass) => task('hand_over', pass),
    report(pass) {
      if ('error' in pass) return troubles.report(HAND_OVER, pass.error)
      troubles.resolve(HAND_OVER)
      metrics.workflowsRevived.add({}, pass.revived)
      log.info(pass, 'webhooks handed to workflows')
    },
  })
  ends.defer(() => handOver.stop())
}

interface ActivitiesParts {
  workflows: Workflows
  task: ReturnType<typeof countTasks>
  stopping: AbortSignal
}

/** The activities of the workflows: POST events, end dispatches, drop old history and check domains. */
function startActivities(program: Program, { workflows, task, stopping }: ActivitiesParts): Activities {
  const { config, log, db, clock, metrics, tracing, ends } = program
  const attempts = createProcessAttempts(config, { db, clock, log, metrics, tracing })
  ends.defer(() => attempts.close())
  const mayDial = createGuard({ allowSubnets: config.smtpAllowSubnets })
  const verification = createDomainVerification({ db, clock, ...domainChecks(program, mayDial, attempts.resolver) })
  const checks = {
    onChange: ({ id, name }: Domain, status: Domain['status']) =>
      log[status === 'verified' ? 'info' : 'warn'](
        { domain_id: publicId('dom', id), domain: name },
        `a domain is ${status}`,
      ),
    onError: (error: unknown) =>
      log.error({ err: error }, 'a domain could not be checked: it is tried again in a minute'),
  }
  const archiveHistory = createArchiveHistory(program)
  const report = (error: unknown) => log.warn({ err: error }, 'a replay could not start a workflow: the hand-over does')
  return createActivities({
    attemptOnce: attempts.attemptOnce,
    replays: createRangeReplays({ db, workflows, tracing, report }),
    finishDispatches: (ids, state) => finishDispatches(db, ids, state),
    dropExpired: task('retention', async () => enforceRetention(program, await archiveHistory(stopping))),
    verifyDue: (signal) => verification.verifyDue({ signal, ...checks }),
    onError: (error) => log.error({ err: error }, 'an activity failed and will be repeated'),
    stopping,
  })
}

/** What the daily retention does. Returns the names of the tables that it dropped. */
async function enforceRetention(
  { config, db, clock }: Program,
  mayDrop: (table: string) => boolean,
): Promise<string[]> {
  const dropped = await dropExpired(config.databaseUrl, mayDrop)
  await removeContents(config.databaseUrl, config.contentRetentionDays)
  await rollUpDays(db, firstKeptHour(clock.now()))
  await rollUpGroups(db, firstKeptHour(clock.now()))
  return dropped
}

/** Warns every hour of each endpoint that has not acknowledged an event for more than an hour. */
function warnOfFailingEndpoints({ db, log, ends }: Program): void {
  const warning = runEvery(
    WARN_EVERY_MS,
    async () => {
      for (const { accountId, url, ...facts } of await failingEndpoints(db)) {
        const endpoint = { account_id: publicId('acc', accountId), host: new URL(url).host, ...facts }
        log.warn(endpoint, 'a webhook endpoint has not acknowledged an event for more than an hour')
      }
    },
    (error) => log.error({ err: error }, 'failing webhook endpoints could not be read'),
  )
  ends.defer(() => warning.stop())
}

/**
 * Makes Temporal's SDK log like everything else, and leaves signals to the process: the SDK would end it in the
 * middle of a drain.
 */
function installLogger(log: Logger): void {
  const logger = new DefaultLogger('ERROR', ({ message, meta }) => log.error({ ...meta, err: meta?.error }, message))
  const filter = makeTelemetryFilterString({ core: 'ERROR' })
  Runtime.install({ logger, shutdownSignals: [], telemetryOptions: { logging: { forward: {}, filter } } })
}
