import type { Logger } from 'pino'
import { createResolver } from '../../mail/dns/resolver.ts'
import { createLookup } from '../../net/lookup.ts'
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

interface Parts {
  db: Database
  clock: DatabaseClock
  log: Logger
  metrics: Metrics
  tracing: Tracing
}

/** The attempts of webhooks, with their own connections. The thread of first attempts and the worker each have one. */
export function createProcessAttempts(config: Config, { db, clock, log, metrics, tracing }: Parts) {
  const resolver = createResolver({ servers: config.dnsServers, onAnswer: createAnswerCounter(metrics) })
  watchResolver(metrics, resolver)
  const { post, close } = createPost({
    allowSubnets: config.webhookAllowSubnets,
    lookup: createLookup(resolver),
    proxy: config.webhookProxy,
  })
  const sealer = createSealer(config.encryptionKeys)
  const logAttempt = createAttemptLog(log)
  const report = (attempt: AttemptReport) => {
    logAttempt(attempt)
    metrics.webhookAttempts.add({ attempt: attempt.number === 1 ? 'first' : 'retry', outcome: attempt.outcome })
    metrics.webhookSeconds.observe({}, attempt.durationMs / 1_000)
  }
  return { ...createAttempts({ db, clock, sealer, post, tracing, report }), close }
}
