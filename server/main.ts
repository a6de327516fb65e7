import { setTimeout as sleep } from 'node:timers/promises'
import { createServiceImplSpec } from '@connectrpc/connect'
import { DomainService } from '../gen/verdict/v1/domains_pb.ts'
import { EmailService } from '../gen/verdict/v1/emails_pb.ts'
import { EventService } from '../gen/verdict/v1/events_pb.ts'
import { LimitsService } from '../gen/verdict/v1/limits_pb.ts'
import { StatsService } from '../gen/verdict/v1/stats_pb.ts'
import { SuppressionService } from '../gen/verdict/v1/suppression_pb.ts'
import { WebhookService } from '../gen/verdict/v1/webhooks_pb.ts'
import packageJson from '../package.json' with { type: 'json' }
import { createTemporal } from '../workflows/temporal.ts'
import { createGate } from './access/gate.ts'
import { createOpenCalls } from './access/open-calls.ts'
import { matchingFormOf } from './address.ts'
import { type Config, readConfig, reportFaults } from './config/config.ts'
import { leaseOf } from './config/limits.ts'
import { sourceAddressFaults } from './config/source-addresses.ts'
import { databaseClock } from './db/clock.ts'
import { connect } from './db/connect.ts'
import { createSealer } from './db/encryption.ts'
import { removeExpired } from './db/expiry.ts'
import { showId } from './db/ids.ts'
import { findLostKeys } from './db/lost-keys.ts'
import { keepPartitions, makePartitions } from './db/partitions.ts'
import { databaseReadiness } from './db/readiness.ts'
import { waitForDatabase } from './db/wait.ts'
import { createResolver } from './dns/resolver.ts'
import { sendingHosts } from './domains/records.ts'
import { makeReturnPath } from './domains/return-path.ts'
import { createSenderDomains } from './domains/sender.ts'
import { createVerification } from './domains/verification.ts'
import { createVerifier } from './domains/verify.ts'
import { createGuard } from './egress/guard.ts'
import { createHttpsGet } from './egress/https-get.ts'
import { lookupWith } from './egress/lookup.ts'
import { LEFT_TO_TEMPORAL } from './events/dispatches.ts'
import { every } from './every.ts'
import { startFirstAttempts } from './first-attempts.ts'
import { createApp } from './http/app.ts'
import { listen } from './http/listen.ts'
import { addresseesOf } from './inbound/addressee.ts'
import { feedbackStep } from './inbound/feedback.ts'
import { listenForBounces } from './inbound/listener.ts'
import { createReceiver } from './inbound/receive.ts'
import { createAddressHash, createLogger } from './log.ts'
import { createBreaker } from './reputation/breaker.ts'
import { mergeStatistics } from './reputation/merge-statistics.ts'
import { suppressionLookup } from './reputation/suppression.ts'
import { dailyVolume } from './reputation/warm-up.ts'
import { createBatch } from './sending/batch.ts'
import { createBatchKeys } from './sending/batch-keys.ts'
import { createIdempotency } from './sending/idempotency.ts'
import { sendsInProgress } from './sending/in-progress.ts'
import { createSend } from './sending/send.ts'
import { keepSweeping } from './sending/sweep.ts'
import { domainService } from './services/domains.ts'
import { emailService } from './services/emails.ts'
import { eventService } from './services/events.ts'
import { limitsService } from './services/limits.ts'
import { createReplay } from './services/replay.ts'
import { statsService } from './services/stats.ts'
import { suppressionService } from './services/suppression.ts'
import { webhookService } from './services/webhooks.ts'
import { createSimulator } from './simulator/simulator.ts'
import { createEngine } from './smtp/engine.ts'
import { createStsPolicies } from './smtp/sts-policies.ts'
import { drainWhenStopped, surviveHangUp } from './stop-signals.ts'
import { createPost } from './webhooks/post.ts'

// `npm run api`: configuration -> database -> engine -> services -> listen -> drain.

surviveHangUp()
const read = readConfig(process.env)
if ('faults' in read) reportFaults(read.faults)
const log = createLogger(read.config.logLevel)
for (const warning of read.warnings) log.warn(warning)
const faults = await sourceAddressFaults(read.config.smtpSourceAddresses)
if (faults.length > 0) reportFaults(faults)

try {
  await serve(read.config)
} catch (error) {
  log.fatal({ err: error }, 'the API cannot start')
  console.error(`The API cannot start: ${(error as Error).message}`)
  process.exit(1)
}

async function serve(config: Config): Promise<void> {
  const db = connect(config.databaseUrl, { connections: 10 })
  const ready = databaseReadiness(db)
  await waitForDatabase(db, (what) => log.warn(what))
  const clock = await databaseClock(db)
  await makePartitions(db)
  const sealer = createSealer(config.encryptionKeys)
  for (const lost of await findLostKeys(db, sealer)) {
    log.error(lost, `ENCRYPTION_KEYS does not open what the key ${lost.key} sealed: add that key again`)
  }
  const returnPathKeys = sealer.deriveKeys('return-path')
  const [logKey] = sealer.deriveKeys('log')

  if (config.smtpAllowSubnets.length > 0) {
    log.warn({ subnets: config.smtpAllowSubnets }, 'mail exchangers in these private ranges may be dialled')
  }
  const simulator = createSimulator()
  await simulator.listen()
  const resolver = createResolver({ servers: config.dnsServers })
  const lookup = lookupWith(resolver)
  const mayDial = createGuard({ allowSubnets: config.smtpAllowSubnets })
  const engine = createEngine({
    resolver,
    mayDial,
    policyOf: createStsPolicies({
      resolver,
      httpsGet: createHttpsGet({ lookup, mayDial }),
      onTrouble: (domain, cause) => log.warn({ domain, cause }, 'an MTA-STS policy cannot be had'),
    }),
    smtpPort: config.smtpPort,
    routes: config.smtpRoutes,
    heloName: config.smtpHeloName,
    sourceAddresses: config.smtpSourceAddresses,
    onLateReply: ({ mx, reply }, messageId) =>
      log.warn(
        { message_id: messageId && showId('msg', messageId), mx, code: reply?.code },
        'a verdict came after its caller was told in_doubt',
      ),
  })
  const { webhookAllowSubnets, webhookProxy } = config
  if (webhookAllowSubnets.length > 0) {
    log.warn(
      { subnets: webhookAllowSubnets },
      'webhook endpoints in these private ranges may be called, also over http',
    )
  }
  const webhooks = createPost({
    allowSubnets: webhookAllowSubnets,
    lookup,
    proxy: webhookProxy,
  })
  const firstAttempts = config.webhookFirstAttempt === 'inline' ? startFirstAttempts(config) : undefined
  const temporal = createTemporal(config)
  const { workflows } = temporal

  const breaker = createBreaker({ db, thresholds: config.limits.breaker })
  const sendMessage = createSend({
    db,
    clock,
    engine,
    firstAttempts: firstAttempts ?? LEFT_TO_TEMPORAL,
    senderDomains: createSenderDomains({ db, sealer }),
    simulated: simulator.route,
    hasStaticRoute: (domain) => config.smtpRoutes.has(domain),
    returnPath: (messageId, domain) => `${makeReturnPath(returnPathKeys[0], messageId)}@${domain.returnPathHost}`,
    region: config.dataRegion,
    sendBudgetMs: config.sendBudgetMs,
    storeContent: config.storeContent,
    warmUpSteps: config.limits.warmUp,
    dailyVolume: dailyVolume(db),
    breaker,
    suppressed: suppressionLookup(db),
  })
  const sends = sendsInProgress(sendMessage)
  const { send } = sends
  const sendLeaseMs = leaseOf(config.sendBudgetMs)
  const idempotency = createIdempotency(db, sendLeaseMs)
  const stopping = new AbortController()
  const sendBatch = createBatch({ send, idempotency, stopping: stopping.signal })
  const batchKeys = createBatchKeys(db, sendLeaseMs)

  const hosts = sendingHosts(config)
  if (hosts.sourceDetail) log.warn(`SPF names the address that mail leaves from: ${hosts.sourceDetail}`)
  const verifier = createVerifier({ servers: config.dnsServers, mayDial, hosts })
  const { verifyNow } = createVerification({ db, clock, hosts, verifier })

  const app = await createApp({
    services: [
      createServiceImplSpec<typeof EmailService>(
        EmailService,
        emailService({ db, clock, send, idempotency, sendBatch, batchKeys, hashAddress: createAddressHash(logKey) }),
      ),
      createServiceImplSpec<typeof EventService>(
        EventService,
        eventService({
          db,
          clock,
          matchingForm: matchingFormOf,
          replay: createReplay({
            db,
            clock,
            workflows,
            report: (error) => log.warn({ err: error }, 'a replay could not be started'),
          }),
          workflowUrl: temporal.workflowUrl,
        }),
      ),
      createServiceImplSpec<typeof WebhookService>(
        WebhookService,
        webhookService({
          db,
          clock,
          sealer,
          post: webhooks.post,
          faultOf: webhooks.urls.faultOf,
          workflows,
          report: (error) => log.warn({ err: error }, 'a workflow could not be cancelled: it ends at its next attempt'),
        }),
      ),
      createServiceImplSpec<typeof DomainService>(
        DomainService,
        domainService({ db, clock, sealer, hosts, breaker, warmUpSteps: config.limits.warmUp, verifyNow }),
      ),
      createServiceImplSpec<typeof StatsService>(StatsService, statsService({ db, clock, breaker })),
      createServiceImplSpec<typeof SuppressionService>(
        SuppressionService,
        suppressionService({ db, clock, matchingForm: matchingFormOf }),
      ),
      createServiceImplSpec<typeof LimitsService>(LimitsService, limitsService({ db, limits: config.limits })),
    ],
    gate: createGate({ db, clock, limits: config.limits }),
    openCalls: createOpenCalls(),
    log,
    checks: async () => {
      const [checks, health] = await Promise.all([ready(), temporal.health()])
      return { ...checks, temporal: health }
    },
    publicUrl: () => config.publicUrl ?? listener.url,
    about: { version: packageJson.version, region: config.dataRegion },
    trustProxy: [...config.trustProxy],
    limits: { budgetWaitMs: config.sendBudgetMs },
  })
  const partitions = keepPartitions(db, (error) => log.error({ err: error }, 'partitions could not be made'))
  const upkeep = every(
    60_000,
    () => removeExpired(db).then(() => mergeStatistics(db)),
    (error) => log.error({ err: error }, 'what is over could not be removed'),
  )
  const sweeper = keepSweeping(db, (found) => {
    if ('error' in found) log.error({ err: found.error }, 'the sweeper failed')
    else log.warn(found, 'settled what a crash left behind')
  })
  app.draining.addEventListener('abort', () => stopping.abort())
  const { host, port, grpcPort, tls, trustProxy, bounceHost, bouncePort, returnPathHost } = config
  const bounces =
    bouncePort === undefined
      ? undefined
      : await listenForBounces({
          host: bounceHost,
          port: bouncePort,
          name: config.smtpHeloName,
          tls,
          addresseeOf: addresseesOf({ returnPathKeys, returnPathHost }),
          receive: createReceiver({
            returnPathKeys,
            keep: feedbackStep({ db, clock }),
            report: ({ messageId, report, kept }) =>
              log.info({ message_id: messageId && showId('msg', messageId), report, kept }, 'mail came back'),
          }),
          failed: (error) => log.warn({ err: error }, 'mail that came back could not be taken: its sender tries again'),
        })
  if (bounces) log.info({ host: bounceHost, port: bounces.port }, 'bounces and complaints are taken')
  const listener = await listen(app, { host, port, grpcPort, tls, trustProxy })
  log.info({ url: listener.url, public_url: config.publicUrl, version: packageJson.version }, 'ready')
  process.send?.({ ready: listener.url, grpcUrl: listener.grpcUrl })

  async function drain(): Promise<void> {
    log.info({ grace_ms: config.drainGraceMs }, 'not ready any more, still serving')
    app.leave()
    await sleep(config.drainGraceMs)
    log.info('draining')
    await Promise.all([listener.close({ timeoutMs: config.drainMs }), bounces?.close()])
    await Promise.all([idempotency.idle(), batchKeys.idle()])
    await sends.idle()
    await firstAttempts?.drain()
    sweeper.stop()
    partitions.stop()
    upkeep.stop()
    clock.stop()
    engine.close()
    await Promise.all([simulator.close(), webhooks.close(), temporal.close(), db.$client.end({ timeout: 5 })])
    log.info('drained')
  }
  drainWhenStopped(drain)
}
