import type { Logger } from 'pino'
import { createResolver } from '../../mail/dns/resolver.ts'
import { createLookup } from '../../net/lookup.ts'
import { runEvery } from '../async/run-every.ts'
import type { Config } from '../config/config.ts'
import type { DatabaseClock } from '../db/clock.ts'
import type { Database } from '../db/connect.ts'
import { createSealer } from '../db/encryption.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { Tracing } from '../telemetry/tracing.ts'
import { createAnswerCounter, watchResolver } from '../telemetry/watch-parts.ts'
import { createAttemptLog } from '../webhooks/attempt/attempt-log.ts'
import { type AttemptReport, createAttempts } from '../webhooks/attempt/attempt-once.ts'
import { createPost } from '../webhooks/post/post.ts'
import { rememberEarlierDomains } from './earlier-deliveries.ts'

interface Parts {
  db: Database
  clock: DatabaseClock
  log: Logger
  metrics: Metrics
  tracing: Tracing
}

/** How often it is read which domains took a message of late. */
const REMEMBER_EVERY_MS = 3_600_000

/** The attempts of webhooks, with their own connections. The thread of first attempts and the worker each have one. */
export function createProcessAttempts(config: Config, { db, clock, log, metrics, tracing }: Parts) {
  const resolver = createResolver({ servers: config.dnsServers, onAnswer: createAnswerCounter(metrics) })
  watchResolver(metrics, resolver)
  const hasStaticRoute = (domain: string) => config.smtpRoutes.has(domain)
  const remember = () => rememberEarlierDomains({ db, resolver, hasStaticRoute }, clock.now())
  const onError = (error: unknown) => log.warn({ err: error }, 'the domains of earlier deliveries could not be read')
  const remembering = runEvery(REMEMBER_EVERY_MS, remember, onError)
  void remember().catch(onError)
  const { post, close } = createPost({
    allowSubnets: config.webhookAllowSubnets,
    lookup: createLookup(resolver),
    isFact: resolver.isFact,
    clockErrorMs: () => Date.now() - clock.now(),
    proxy: config.webhookProxy,
  })
  const sealer = createSealer(config.encryptionKeys)
  const logAttempt = createAttemptLog(log)
  const report = (attempt: AttemptReport) => {
    logAttempt(attempt)
    metrics.webhookAttempts.add({ attempt: attempt.number === 1 ? 'first' : 'retry', outcome: attempt.outcome })
    metrics.webhookSeconds.observe({}, attempt.durationMs / 1_000)
  }
  const attempts = createAttempts({ db, clock, sealer, post, tracing, report })
  return {
    ...attempts,
    resolver,
    close() {
      remembering.stop()
      return close()
    },
  }
}
