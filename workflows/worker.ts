import { Client } from '@temporalio/client'
import { DefaultLogger, makeTelemetryFilterString, Runtime } from '@temporalio/worker'
import packageJson from '../package.json' with { type: 'json' }
import { type Config, readConfig, reportFaults } from '../server/config/config.ts'
import { databaseClock } from '../server/db/clock.ts'
import { connect } from '../server/db/connect.ts'
import { dropExpired } from '../server/db/drop-expired.ts'
import { showId } from '../server/db/ids.ts'
import { waitForDatabase } from '../server/db/wait.ts'
import { deliveriesOf } from '../server/deliveries.ts'
import type { Domain } from '../server/domains/domains.ts'
import { sendingHosts } from '../server/domains/records.ts'
import { createVerification } from '../server/domains/verification.ts'
import { createVerifier } from '../server/domains/verify.ts'
import { createGuard } from '../server/egress/guard.ts'
import { every } from '../server/every.ts'
import { createLogger } from '../server/log.ts'
import { drainWhenStopped, surviveHangUp } from '../server/stop-signals.ts'
import { finishDispatches } from '../server/webhooks/end.ts'
import { keepHandingOver } from '../server/webhooks/hand-over.ts'
import { failingEndpoints } from '../server/webhooks/health.ts'
import { createActivities } from './activities.ts'
import { createWorkflows } from './client.ts'
import { lazyConnection } from './connection.ts'
import { keepWorking } from './run-workers.ts'
import { setUp } from './set-up.ts'
import { createTroubles } from './troubles.ts'

// `npm run worker`: configuration -> database -> what POSTs and checks of domains need -> Temporal -> hand over and work -> drain.

/** Whatever another client of Temporal has taken away is made again. */
const SET_UP_EVERY_MS = 60_000
const TELL_FAILING_EVERY_MS = 3_600_000

// What there can be trouble with.
const TEMPORAL = 'Temporal'
const NAMESPACE = 'the namespace in Temporal'
const HAND_OVER = 'the hand-over of webhooks'

surviveHangUp()
const read = readConfig(process.env)
if ('faults' in read) reportFaults(read.faults)
const log = createLogger(read.config.logLevel)
for (const warning of read.warnings) log.warn(warning)

try {
  await work(read.config)
} catch (error) {
  log.fatal({ err: error }, 'the worker cannot start')
  console.error(`The worker cannot start: ${(error as Error).message}`)
  process.exit(1)
}

async function work(config: Config): Promise<void> {
  const { temporal, webhookSchedule } = config
  if (!temporal) throw new Error('TEMPORAL_ADDRESS is not set: without Temporal a worker has nothing to do.')
  logLikeUs()
  const db = connect(config.databaseUrl, { connections: 10 })
  await waitForDatabase(db, (what) => log.warn(what))
  const clock = await databaseClock(db)

  const deliveries = deliveriesOf(config, { db, clock, log })
  const hosts = sendingHosts(config)
  if (hosts.sourceDetail) log.warn(`SPF names the address that mail leaves from: ${hosts.sourceDetail}`)
  const mayDial = createGuard({ allowSubnets: config.smtpAllowSubnets })
  const verifier = createVerifier({ servers: config.dnsServers, mayDial, hosts })
  const verification = createVerification({ db, clock, hosts, verifier })
  const checks = {
    changed: ({ id, name }: Domain, status: Domain['status']) =>
      log[status === 'verified' ? 'info' : 'warn'](
        { domain_id: showId('dom', id), domain: name },
        `a domain is ${status}`,
      ),
    failed: (error: unknown) =>
      log.error({ err: error }, 'a domain could not be checked: it is tried again in a minute'),
  }
  const stopping = new AbortController()
  const activities = createActivities({
    deliverOnce: deliveries.deliverOnce,
    finishDispatches: (ids, state) => finishDispatches(db, ids, state),
    dropExpired: () => dropExpired(config.databaseUrl),
    verifyDue: (signal) => verification.verifyDue({ signal, ...checks }),
    failed: (error) => log.error({ err: error }, 'an activity failed and will be repeated'),
    stopping: stopping.signal,
  })

  const connection = lazyConnection(temporal)
  const client = new Client({ connection, namespace: temporal.namespace })
  const troubles = createTroubles(log)
  const prepare = () =>
    setUp(client).then(
      () => troubles.isOver(NAMESPACE),
      (error) => troubles.is(NAMESPACE, error),
    )
  const upkeep = every(SET_UP_EVERY_MS, prepare, () => {})
  const handOver = keepHandingOver({
    db,
    workflows: createWorkflows({ connection, namespace: temporal.namespace, scheduleMs: webhookSchedule }),
    scheduleMs: webhookSchedule,
    report(done) {
      if ('error' in done) return troubles.is(HAND_OVER, done.error)
      troubles.isOver(HAND_OVER)
      log.info(done, 'webhooks handed to workflows')
    },
  })
  const telling = every(
    TELL_FAILING_EVERY_MS,
    async () => {
      for (const { accountId, url, ...facts } of await failingEndpoints(db)) {
        const endpoint = { account_id: showId('acc', accountId), host: new URL(url).host, ...facts }
        log.warn(endpoint, 'a webhook endpoint has not acknowledged anything for more than an hour')
      }
    },
    (error) => log.error({ err: error }, 'failing webhook endpoints could not be looked for'),
  )
  const working = keepWorking({
    temporal,
    activities,
    stopping: stopping.signal,
    async connected() {
      troubles.isOver(TEMPORAL)
      await prepare()
    },
    failed: (error) => troubles.is(TEMPORAL, error),
  })
  log.info({ version: packageJson.version, temporal: temporal.address }, 'ready')
  process.send?.({ ready: true })

  async function drain(): Promise<void> {
    log.info('draining')
    stopping.abort()
    handOver.stop()
    upkeep.stop()
    telling.stop()
    await working
    clock.stop()
    await Promise.all([deliveries.close(), connection.close(), db.$client.end({ timeout: 5 })])
    log.info('drained')
  }
  drainWhenStopped(drain)
}

/** Temporal's SDK logs like everything else. Signals are ours: it would end the process in the middle of a drain. */
function logLikeUs(): void {
  const logger = new DefaultLogger('ERROR', ({ message, meta }) => log.error({ ...meta, err: meta?.error }, message))
  const filter = makeTelemetryFilterString({ core: 'ERROR' })
  Runtime.install({ logger, shutdownSignals: [], telemetryOptions: { logging: { forward: {}, filter } } })
}
