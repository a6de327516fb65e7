import type { Logger } from 'pino'
import { type Config, readConfig, reportFaults } from './config/config.ts'
import { type DatabaseClock, databaseClock } from './db/clock.ts'
import { connect, type Database } from './db/connect.ts'
import { waitForDatabase } from './db/wait.ts'
import { createLogger } from './log.ts'
import { drainWhenStopped, surviveHangUp } from './stop-signals.ts'

/** The parts that every process of the service has. */
export interface Program {
  config: Config
  log: Logger
  db: Database
  clock: DatabaseClock
  /**
   * What a shutdown ends: put each end beside its beginning. A shutdown runs the ends one after the other, the last one
   * first.
   */
  ends: AsyncDisposableStack
}

export interface Process {
  /** For messages: "The API cannot start". */
  name: string
  /** Checks the configuration before the database is used. Throws, or reports the faults. */
  check(config: Config): Promise<void> | void
  /** Resolves when the process serves, to the message for its parent process. */
  start(program: Program): Promise<object>
}

/**
 * Runs a process: configuration, logger, database, `start`, and an ordered shutdown after SIGTERM or SIGINT. A
 * process that cannot start says why and exits with 1.
 */
export async function run({ name, check, start }: Process): Promise<void> {
  surviveHangUp()
  const settings = readConfig(process.env)
  if ('faults' in settings) reportFaults(settings.faults)
  const { config, warnings } = settings
  const log = createLogger(config.logLevel)
  for (const warning of warnings) log.warn(warning)
  try {
    await check(config)
    const ends = new AsyncDisposableStack()
    const db = connect(config.databaseUrl, { connections: 10 })
    ends.defer(() => db.$client.end({ timeout: 5 }))
    await waitForDatabase(db, (what) => log.warn(what))
    const clock = await databaseClock(db)
    ends.defer(() => clock.stop())
    const ready = await start({ config, log, db, clock, ends })
    drainWhenStopped(async () => {
      await ends.disposeAsync()
      log.info('drained')
    })
    // A parent may send a signal as soon as it hears this.
    process.send?.(ready)
  } catch (error) {
    log.fatal({ err: error }, `the ${name} cannot start`)
    console.error(`The ${name} cannot start: ${(error as Error).message}`)
    process.exit(1)
  }
}
