import { Client } from '@temporalio/client'
import { DefaultLogger, makeTelemetryFilterString, Runtime } from '@temporalio/worker'
import type { Logger } from 'pino'
import packageJson from '../package.json' with { type: 'json' }
import type { Config } from '../server/config/config.ts'
import { dropExpired } from '../server/db/drop-expired.ts'
import { showId } from '../server/db/ids.ts'
import { deliveriesOf } from '../server/deliveries.ts'
import type { Domain } from '../server/domains/domains.ts'
import { sendingHosts } from '../server/domains/records.ts'
import { createVerification } from '../server/domains/verification.ts'
import { createVerifier } from '../server/domains/verify.ts'
import { createGuard } from '../server/egress/guard.ts'
import { every } from '../server/every.ts'
import { type Program, run } from '../server/program.ts'
import { finishDispatches } from '../server/webhooks/end.ts'
import { keepHandingOver } from '../server/webhooks/hand-over.ts'
import { failingEndpoints } from '../server/webhooks/health.ts'
import { type Activities, createActivities } from './activities.ts'
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

await run({ name: 'worker', check: checkTemporal, start })

function checkTemporal({ temporal }: Config): void {
  if (!temporal) throw new Error('TEMPORAL_ADDRESS is not set: without Temporal a worker has nothing to do.')
}

async function start(program: Program): Promise<void> {
  const { config, log, db, ends } = program
  const temporal = config.temporal!
  logLikeUs(log)
  const stopping = new AbortController()
  const activities = startActivities(program, stopping.signal)
  const connection = lazyConnection(temporal)
  ends.defer(() => connection.close())
  const client = new Client({ connection, namespace: temporal.namespace })
  const troubles = createTroubles(log)
  const prepare = () =>
    setUp(client).then(
      () => troubles.isOver(NAMESPACE),
      (error) => troubles.is(NAMESPACE, error),
    )
  const preparing = every(SET_UP_EVERY_MS, prepare, () => {})
  ends.defer(() => preparing.stop())

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
  ends.defer(() => working)

  const { webhookSchedule: scheduleMs } = config
  const handOver = keepHandingOver({
    db,
    workflows: createWorkflows({ connection, namespace: temporal.namespace, scheduleMs }),
    scheduleMs,
    report(round) {
      if ('error' in round) return troubles.is(HAND_OVER, round.error)
      troubles.isOver(HAND_OVER)
      log.info(round, 'webhooks handed to workflows')
    },
  })
  ends.defer(() => handOver.stop())
  tellFailingEndpoints(program)
  ends.defer(() => {
    log.info('draining')
    stopping.abort()
  })
  log.info({ version: packageJson.version, temporal: temporal.address }, 'ready')
  process.send?.({ ready: true })
}

/** What the workflows may do: POST events, end dispatches, drop old history and check domains. */
function startActivities({ config, log, db, clock, ends }: Program, stopping: AbortSignal): Activities {
  const deliveries = deliveriesOf(config, { db, clock, log })
  ends.defer(() => deliveries.close())
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
  return createActivities({
    deliverOnce: deliveries.deliverOnce,
    finishDispatches: (ids, state) => finishDispatches(db, ids, state),
    dropExpired: () => dropExpired(config.databaseUrl),
    verifyDue: (signal) => verification.verifyDue({ signal, ...checks }),
    failed: (error) => log.error({ err: error }, 'an activity failed and will be repeated'),
    stopping,
  })
}

/** Warns once an hour of each endpoint that has not acknowledged anything for more than an hour. */
function tellFailingEndpoints({ db, log, ends }: Program): void {
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
  ends.defer(() => telling.stop())
}

/** Temporal's SDK logs like everything else. Signals are ours: it would end the process in the middle of a drain. */
function logLikeUs(log: Logger): void {
  const logger = new DefaultLogger('ERROR', ({ message, meta }) => log.error({ ...meta, err: meta?.error }, message))
  const filter = makeTelemetryFilterString({ core: 'ERROR' })
  Runtime.install({ logger, shutdownSignals: [], telemetryOptions: { logging: { forward: {}, filter } } })
}
