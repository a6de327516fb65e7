import { setTimeout as sleep } from 'node:timers/promises'
import { createResolver } from '../mail/dns/resolver.ts'
import { createGuard } from '../net/guard.ts'
import { createLookup } from '../net/lookup.ts'
import packageJson from '../package.json' with { type: 'json' }
import { createTemporal } from '../workflows/temporal.ts'
import { prepareFirstPerson } from './access/people/first-person.ts'
import { createApi } from './api.ts'
import { type Config, reportFaults } from './config/config.ts'
import { lostKeyFaults } from './config/lost-key-faults.ts'
import { sourceAddressFaults } from './config/source-addresses.ts'
import { createDatabaseReadiness } from './db/database-readiness.ts'
import { createSealer, type Sealer } from './db/encryption.ts'
import { findUnopenedValues } from './db/lost-encryption-keys.ts'
import { createTransactionWatch, streamsState } from './db/oldest-transaction.ts'
import { readOn } from './db/replicas.ts'
import { listen } from './http/listener/listen.ts'
import { keepProbingWrites } from './ledger/probe-writes.ts'
import { startBounces } from './process/bounces.ts'
import { keepCertificate } from './process/certificate.ts'
import { domainChecks } from './process/domain-checks.ts'
import { startNotices } from './process/notices.ts'
import { openReplicas } from './process/open-replicas.ts'
import { startOutbound } from './process/outbound.ts'
import { type Program, runProcess } from './process/program.ts'
import { releaseMemory } from './process/release-memory.ts'
import { startSmtpFront } from './process/smtp-front.ts'
import { startUpkeep } from './process/upkeep.ts'
import { createBreaker } from './reputation/breaker.ts'
import { createCallCounter, watchCalls } from './telemetry/count-calls.ts'
import { watchCluster, watchInstallation, watchOldestTransaction, watchQuotas } from './telemetry/installation.ts'
import {
  countWorkflows,
  createAnswerCounter,
  watchCertificates,
  watchReadiness,
  watchResolver,
  watchTemporal,
  watchWrites,
} from './telemetry/watch-parts.ts'
import { createPost } from './webhooks/post/post.ts'

// `npm run api`: Temporal and webhooks -> upkeep -> sends -> the API -> bounces -> SMTP front -> listen.

/** What waits for longer is tried again, beside the sends of others (db/collector.ts). */
const LOCK_MS = 1_000

await runProcess({ name: 'API', lockMs: LOCK_MS, check: checkSourceAddresses, start })

async function checkSourceAddresses({ smtpSourceAddresses }: Config): Promise<void> {
  const faults = await sourceAddressFaults(smtpSourceAddresses)
  if (faults.length > 0) reportFaults(faults)
}

async function start(program: Program): Promise<object> {
  const { config, limits, log, db, clock, metrics, tracing, ends } = program
  warnOfPrivateRanges(program)
  const sealer = createSealer(config.encryptionKeys)
  await checkSealedValues(program, sealer)

  const temporal = await createTemporal(config, tracing)
  ends.defer(() => temporal.close())
  watchTemporal(metrics, async () => (await temporal.health()).temporal === 'ok')
  watchInstallation(metrics, db)
  watchCluster(metrics, db, config.backupFile)
  watchQuotas(metrics, db, limits)
  const oldestTransaction = createTransactionWatch(db)
  watchOldestTransaction(metrics, oldestTransaction)
  const resolver = createResolver({
    servers: config.dnsServers,
    dnssec: config.dnssec === 'trust',
    onAnswer: createAnswerCounter(metrics),
  })
  watchResolver(metrics, resolver)
  const webhooks = createPost({
    allowSubnets: config.webhookAllowSubnets,
    lookup: createLookup(resolver),
    proxy: config.webhookProxy,
  })
  ends.defer(() => webhooks.close())
  await startUpkeep(program)
  await prepareFirstPerson(program, config.admin)

  const breaker = createBreaker({
    db,
    limits,
    onChange: (state) => metrics.breakerChanges.add({ state }),
  })
  const mayDial = createGuard({ allowSubnets: config.smtpAllowSubnets })
  const { send, sendHouseMail, inbox, firstAttemptsStarted } = await startOutbound(program, {
    sealer,
    resolver,
    mayDial,
    breaker,
  })

  const publicUrl = () => config.publicUrl ?? listener.url
  const databaseState = createDatabaseReadiness(db)
  const writes = await keepProbingWrites(db, {
    now: clock.now,
    onChange: (error) =>
      error ? log.error({ err: error }, 'sends cannot be stored') : log.warn('sends can be stored again'),
  })
  ends.defer(() => writes.stop())
  watchWrites(metrics, db, writes)
  const replicas = await openReplicas(program)
  const api = await createApi({
    db,
    read: replicas?.read ?? readOn(db),
    clock,
    tracing,
    sealer,
    log,
    limits,
    sendBudgetMs: config.sendBudgetMs,
    send,
    inbox,
    breaker,
    ...domainChecks(program, mayDial),
    webhooks,
    workflows: countWorkflows(temporal.workflows, metrics),
    workflowLink: temporal.workflowLink,
    deliveryViews: temporal.deliveryViews,
    temporalUiUrl: config.temporalUiUrl,
    checks: async () => {
      const waits = streamsState(oldestTransaction)
      const [checks, health] = await Promise.all([databaseState(), temporal.health()])
      const waitingMs = db.recording.waitingMs()
      return {
        ...checks,
        writes: writes.state(),
        ...(waitingMs > 0 && { record: `waiting for ${Math.floor(waitingMs / 1_000)} s` }),
        ...(replicas && { replica: replicas.state() }),
        ...health,
        event_streams: await waits,
      }
    },
    publicUrl,
    listenerUrl: () => listener.url,
    allowedHosts: config.allowedHosts,
    oidc: config.oidc,
    notifyFrom: config.notifyFrom,
    about: { version: packageJson.version, region: config.dataRegion },
    trustProxy: [...config.trustProxy],
    onEnd: createCallCounter(metrics),
    onInvitation(result, accountId) {
      metrics.invitations.add({ result })
      if (result === 'mailed' || result === 'link') return
      log.warn({ account_id: accountId, result }, 'an account reached a limit of invitations')
    },
    onSmtpReply: (reply) => metrics.smtpFrontMessages.add({ reply }),
    onCount: (admitted) => metrics.countedRequests.add({ result: admitted ? 'admitted' : 'refused' }),
  })
  ends.defer(() => api.idle())

  const certificate = config.tls && keepCertificate(program, config.tls)
  const bounces = await startBounces(program, sealer, certificate)
  const { smtpFrontCertificate } = config
  const isShared = smtpFrontCertificate === config.tls
  const ownCertificate = smtpFrontCertificate && !isShared ? keepCertificate(program, smtpFrontCertificate) : undefined
  const smtpFront = await startSmtpFront(program, api.smtpDoor, ownCertificate ?? certificate)
  await releaseMemory()
  // On a busy machine the thread loads for longer than an event waits for its first attempt.
  await firstAttemptsStarted
  const { host, port, trustProxy } = config
  const listener = await listen(api.app, { host, port, tls: certificate?.pair, trustProxy })
  startNotices(program, {
    sealer,
    post: webhooks.post,
    sendHouseMail,
    publicUrl,
  })
  certificate?.onRenewal(listener.showCertificate)
  watchCertificates(metrics, [certificate, ownCertificate])
  watchCalls(metrics, api.app, listener.connections)
  watchReadiness(metrics, api.app.isReady)
  ends.defer(async () => {
    log.info('draining')
    const timeoutMs = config.drainMs
    await Promise.all([listener.close({ timeoutMs }), smtpFront?.close({ timeoutMs }), bounces?.close()])
  })
  ends.defer(async () => {
    log.info({ grace_ms: config.drainGraceMs }, 'not ready any more, still serving')
    api.app.leave()
    await sleep(config.drainGraceMs)
  })
  log.info({ url: listener.url, public_url: config.publicUrl, version: packageJson.version }, 'ready')
  return { ready: listener.url, smtpPort: smtpFront?.smtpPort, lmtpPort: smtpFront?.lmtpPort }
}

/** A lost key stops the start: sends and webhooks that need its values would fail one by one. */
async function checkSealedValues({ config, log, db }: Program, sealer: Sealer): Promise<void> {
  const unopened = await findUnopenedValues(db, sealer)
  const faults = lostKeyFaults(unopened, config.lostEncryptionKeys)
  if (faults.length > 0) reportFaults(faults)
  for (const each of unopened) log.error(each, 'sealed values cannot be opened: what needs them fails')
}

function warnOfPrivateRanges({ config, log }: Program): void {
  const { smtpAllowSubnets, webhookAllowSubnets } = config
  if (smtpAllowSubnets.length > 0) {
    log.warn({ subnets: smtpAllowSubnets }, 'mail exchangers in these private ranges may be dialled')
  }
  if (webhookAllowSubnets.length > 0) {
    const subnets = webhookAllowSubnets
    log.warn({ subnets }, 'webhook endpoints in these private ranges may be called, also over http')
  }
}
