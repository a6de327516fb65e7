import { setTimeout as sleep } from 'node:timers/promises'
import { createResolver, type WatchedResolver } from '../mail/dns/resolver.ts'
import { createGuard, type Guard } from '../net/guard.ts'
import { createLookup } from '../net/lookup.ts'
import packageJson from '../package.json' with { type: 'json' }
import { createTemporal } from '../workflows/temporal.ts'
import { prepareFirstPerson } from './access/people/first-person.ts'
import { type Api, type ApiParts, createApi } from './api.ts'
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
import { type Outbound, startOutbound } from './process/outbound.ts'
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

await runProcess({ name: 'API', check: checkSourceAddresses, start })

async function checkSourceAddresses({ smtpSourceAddresses }: Config): Promise<void> {
  const faults = await sourceAddressFaults(smtpSourceAddresses)
  if (faults.length > 0) reportFaults(faults)
}

async function start(program: Program): Promise<object> {
  const { config, limits, log, db, clock, metrics, ends } = program
  warnOfPrivateRanges(program)
  const sealer = createSealer(config.encryptionKeys)
  await checkSealedValues(program, sealer)
  const temporal = await createTemporal(config, program.tracing)
  ends.defer(() => temporal.close())
  watchTemporal(metrics, async () => (await temporal.health()).temporal === 'ok')
  const oldestTransaction = watchState(program)
  const { dnsServers: servers, dnssec } = config
  const resolver = createResolver({ servers, dnssec: dnssec === 'trust', onAnswer: createAnswerCounter(metrics) })
  watchResolver(metrics, resolver)
  const { webhookAllowSubnets: allowSubnets, webhookProxy: proxy } = config
  const clockErrorMs = () => Date.now() - clock.now()
  const { isFact } = resolver
  const webhooks = createPost({ allowSubnets, lookup: createLookup(resolver), isFact, clockErrorMs, proxy })
  ends.defer(() => webhooks.close())
  await startUpkeep(program)
  await prepareFirstPerson(program, config.admin)

  const breaker = createBreaker({ db, limits, onChange: (state) => metrics.breakerChanges.add({ state }) })
  const mayDial = createGuard({ allowSubnets: config.smtpAllowSubnets })
  const outbound = await startOutbound(program, { sealer, resolver, mayDial, breaker })
  const listenerUrl = () => listeners.http.url
  const publicUrl = () => config.publicUrl ?? listenerUrl()
  const shared = { sealer, temporal, oldestTransaction, webhooks, breaker, mayDial, resolver }
  const parts = { ...shared, outbound, listenerUrl, publicUrl }
  const api = await startApi(program, parts)

  const listeners = await startListeners(program, sealer, api, outbound.firstAttemptsStarted)
  startNotices(program, { sealer, post: webhooks.post, sendHouseMail: outbound.sendHouseMail, publicUrl })
  watchCertificates(metrics, listeners.certificates)
  watchCalls(metrics, api.app, listeners.http.connections)
  watchReadiness(metrics, api.app.isReady)
  deferDrain(program, api, listeners)
  const { http, smtpFront } = listeners
  log.info({ url: http.url, public_url: config.publicUrl, version: packageJson.version }, 'ready')
  return { ready: http.url, smtpPort: smtpFront?.smtpPort, lmtpPort: smtpFront?.lmtpPort }
}

/** Watches what all processes share. Returns the state of the oldest transaction. */
function watchState({ config, limits, db, metrics }: Program) {
  watchInstallation(metrics, db)
  watchCluster(metrics, db, config.backupFile)
  watchQuotas(metrics, db, limits)
  const oldestTransaction = createTransactionWatch(db)
  watchOldestTransaction(metrics, oldestTransaction)
  return oldestTransaction
}

interface RunningParts extends Pick<ApiParts, 'sealer' | 'webhooks' | 'breaker' | 'publicUrl' | 'listenerUrl'> {
  temporal: Awaited<ReturnType<typeof createTemporal>>
  oldestTransaction: ReturnType<typeof watchState>
  mayDial: Guard
  resolver: WatchedResolver
  outbound: Outbound
}

/** Starts what probes the database and its replicas. Returns what readiness shows, and the replicas to read. */
async function startChecks(program: Program, { temporal, oldestTransaction, outbound }: RunningParts) {
  const { log, db, clock, metrics, ends } = program
  const databaseState = createDatabaseReadiness(db)
  const writes = await keepProbingWrites(db, {
    now: clock.now,
    onChange: (error) =>
      error ? log.error({ err: error }, 'sends cannot be stored') : log.warn('sends can be stored again'),
  })
  ends.defer(() => writes.stop())
  watchWrites(metrics, db, writes)
  const replicas = await openReplicas(program)
  const checks = async () => {
    const waits = streamsState(oldestTransaction)
    const [states, health] = await Promise.all([databaseState(), temporal.health()])
    const waitingMs = db.recording.waitingMs()
    return {
      ...states,
      writes: writes.state(),
      mail: outbound.mailState(),
      ...(waitingMs > 0 && { record: `waiting for ${Math.floor(waitingMs / 1_000)} s` }),
      ...(replicas && { replica: replicas.state() }),
      ...health,
      event_streams: await waits,
    }
  }
  return { checks, read: replicas?.read ?? readOn(db) }
}

async function startApi(program: Program, parts: RunningParts): Promise<Api> {
  const { config, log, metrics, ends } = program
  const { temporal, outbound } = parts
  const api = await createApi({
    ...program,
    ...parts,
    ...(await startChecks(program, parts)),
    ...domainChecks(program, parts.mayDial, parts.resolver),
    sendBudgetMs: config.sendBudgetMs,
    send: outbound.send,
    inbox: outbound.inbox,
    workflows: countWorkflows(temporal.workflows, metrics),
    workflowLink: temporal.workflowLink,
    deliveryViews: temporal.deliveryViews,
    temporalUiUrl: config.temporalUiUrl,
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
  return api
}

async function startListeners(program: Program, sealer: Sealer, { app, smtpDoor }: Api, firstAttempts: Promise<void>) {
  const { smtpFrontCertificate, tls, host, port, trustProxy } = program.config
  const certificate = tls && keepCertificate(program, tls)
  const bounces = await startBounces(program, sealer, certificate)
  const isShared = smtpFrontCertificate === tls
  const ownCertificate = smtpFrontCertificate && !isShared ? keepCertificate(program, smtpFrontCertificate) : undefined
  const smtpFront = await startSmtpFront(program, smtpDoor, ownCertificate ?? certificate)
  await releaseMemory()
  // On a busy machine the thread loads for longer than an event waits for its first attempt.
  await firstAttempts
  const http = await listen(app, { host, port, tls: certificate?.pair, trustProxy })
  certificate?.onRenewal(http.showCertificate)
  return { http, smtpFront, bounces, certificates: [certificate, ownCertificate] }
}

/** A shutdown serves on for a while, and then closes the listeners. */
function deferDrain(
  { config, log, ends }: Program,
  { app }: Api,
  listeners: Awaited<ReturnType<typeof startListeners>>,
): void {
  const { http, smtpFront, bounces } = listeners
  ends.defer(async () => {
    log.info('draining')
    const timeoutMs = config.drainMs
    await Promise.all([http.close({ timeoutMs }), smtpFront?.close({ timeoutMs }), bounces?.close()])
  })
  ends.defer(async () => {
    log.info({ grace_ms: config.drainGraceMs }, 'not ready any more, still serving')
    app.leave()
    await sleep(config.drainGraceMs)
  })
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
