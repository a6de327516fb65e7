import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import packageJson from '../../package.json' with { type: 'json' }
import { type Config, readConfig, reportFaults } from '../config/config.ts'
import { createDatabaseClock, type DatabaseClock } from '../db/clock.ts'
import { connect, type Database, LOCK_MS } from '../db/connect.ts'
import { databaseFault } from '../db/database-fault.ts'
import { waitForDatabase } from '../db/wait.ts'
import { createMetrics, type Metrics } from '../telemetry/metrics.ts'
import { startTelemetry } from '../telemetry/start.ts'
import { startTracing } from '../telemetry/start-tracing.ts'
import type { Tracing } from '../telemetry/tracing.ts'
import { createBatchCounter, watchDatabase } from '../telemetry/watch-parts.ts'
import { keepLimits, type LiveLimits } from './live-limits.ts'
import { createLogger } from './log.ts'
import { drainWhenStopped, endProcess, surviveHangUp } from './stop-signals.ts'

/** The parts that every process of the service has. */
export interface Program {
  config: Config
  /** The current limits of TIERS_FILE. Do not read `config.limits`: those are of the start. */
  limits: LiveLimits
  log: Logger
  db: Database
  clock: DatabaseClock
  /** What the parts count and show. See telemetry/metrics.ts for the table. */
  metrics: Metrics
  tracing: Tracing
  /**
   * What a shutdown ends: put each end beside its beginning. A shutdown runs the ends one after the other, the last one
   * first.
   */
  ends: AsyncDisposableStack
}

export interface Process {
  /** For messages: "The API cannot start". */
  name: 'API' | 'worker'
  /** Checks the configuration before the database is used. Throws, or reports the faults. */
  check(config: Config): Promise<void> | void
  /** Resolves when the process serves, to the message for its parent process. */
  start(program: Program): Promise<object>
}

/** How often a start begins again, and the pause before. Each waits half a minute for the database. */
const BEGINS = 20
const PAUSE_MS = 500

/**
 * Runs a process: configuration, logger, database, `start`, and an ordered shutdown after SIGTERM or SIGINT. A
 * process that cannot start says why and exits with 1.
 */
export async function runProcess(parts: Process): Promise<void> {
  const { name, check } = parts
  surviveHangUp()
  const settings = readConfig(process.env)
  if ('faults' in settings) reportFaults(settings.faults)
  const { config, warnings } = settings
  const log = createLogger(config.logLevel)
  for (const warning of warnings) log.warn(warning)
  try {
    await check(config)
    const tracing = await startTracing({
      config,
      service: `verdict-${name.toLowerCase()}`,
      version: packageJson.version,
      log,
    })
    const { ends, message } = await beginUntilStarted(parts, { config, log, tracing })
    const drain = async () => {
      await ends.disposeAsync()
      await tracing.close()
      log.info('drained')
    }
    drainWhenStopped(drain, { log, fault: `the ${name} could not end everything` })
    // A parent may send a signal as soon as it gets this message.
    process.send?.(message)
  } catch (error) {
    log.fatal({ err: error }, `the ${name} cannot start`)
    console.error(`The ${name} cannot start: ${(error as Error).message}`)
    endProcess(1, log)
  }
}

type Settings = Pick<Program, 'config' | 'log' | 'tracing'>

/**
 * Starts, and begins again from the start when the database went away at any step: it may be moving. What the step
 * before had begun is ended.
 */
async function beginUntilStarted(parts: Process, settings: Settings) {
  for (let begins = 1; ; begins++) {
    const ends = new AsyncDisposableStack()
    try {
      return { ends, message: await begin(parts, settings, ends) }
    } catch (error) {
      const fault = databaseFault(error)
      if (!fault?.canPass || begins === BEGINS) throw error
      settings.log.warn(`${fault.what} ${fault.wayOut} Starting again.`)
      await ends.disposeAsync().catch((error) => settings.log.warn({ err: error }, 'a part of the start did not end'))
      await sleep(PAUSE_MS)
    }
  }
}

/** Returns the message for the parent process. */
async function begin({ name, start }: Process, settings: Settings, ends: AsyncDisposableStack) {
  const { config, log } = settings
  const limits = keepLimits({ log, ends }, config)
  const metrics = createMetrics(name === 'API' ? 'api' : 'worker')
  const db = connect(config.databaseUrl, { connections: 10, lockMs: LOCK_MS, batchNotes: createBatchCounter(metrics) })
  watchDatabase(metrics, db)
  ends.defer(() => db.$client.end({ timeout: 5 }))
  await waitForDatabase(db, (what) => log.warn(what))
  const clock = await createDatabaseClock(db)
  ends.defer(() => clock.stop())
  const telemetry = await startTelemetry({ metrics, version: packageJson.version, log, ...metricsPort(name, config) })
  ends.defer(() => telemetry.stop())
  const ready = await start({ ...settings, limits, db, clock, metrics, ends })
  return { ...ready, metricsUrl: telemetry.url() }
}

function metricsPort(name: Process['name'], config: Config) {
  const { metricsHost: host, metricsPort, workerMetricsPort, otlpEndpoint, otlpMetricsEndpoint } = config
  const isPushed = (otlpMetricsEndpoint ?? otlpEndpoint) !== undefined
  return {
    host,
    ...(name === 'API'
      ? { port: metricsPort, portVariable: 'METRICS_PORT' }
      : { port: workerMetricsPort, portVariable: 'WORKER_METRICS_PORT' }),
    pushEveryMs: isPushed ? config.otlpMetricsIntervalMs : undefined,
  }
}
