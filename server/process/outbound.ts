import type { WatchedResolver } from '../../mail/dns/resolver.ts'
import type { WatchedEngine } from '../../mail/smtp/attempt.ts'
import { createEngine } from '../../mail/smtp/engine.ts'
import { createShaping } from '../../mail/smtp/shaping.ts'
import type { OpenSitePlaces } from '../../mail/smtp/site-places.ts'
import { createStsPolicies } from '../../mail/smtp/sts-policies.ts'
import type { Guard } from '../../net/guard.ts'
import { createHttpsGet } from '../../net/https-get.ts'
import { createLookup } from '../../net/lookup.ts'
import { leaseOf } from '../config/limits.ts'
import { isOwn } from '../config/source-addresses.ts'
import { inFlight } from '../db/collector.ts'
import type { Sealer } from '../db/encryption.ts'
import { newId, publicId } from '../db/ids.ts'
import { makeReturnPath, readReturnPath } from '../domains/return-path.ts'
import { createSenderDomains } from '../domains/sender.ts'
import { createSendHouseMail, houseParts, type SendHouseMail } from '../notices/house.ts'
import type { Breaker } from '../reputation/breaker.ts'
import { createMonthlyVolume } from '../reputation/quota.ts'
import { createSuppressionLookup } from '../reputation/suppression.ts'
import { createDailyVolume } from '../reputation/warm-up.ts'
import { createSend, type Send, type SendParts } from '../sending/send.ts'
import { createAddressWarmUp } from '../shaping/address-warm-up.ts'
import { SharedPlaces } from '../shaping/shared-places.ts'
import { createPoolSources } from '../shaping/sources.ts'
import { Inbox } from '../simulator/inbox.ts'
import { createSendBack, type MailBack } from '../simulator/reports.ts'
import { createSimulator } from '../simulator/simulator.ts'
import { trackSends } from '../telemetry/track-sends.ts'
import { countPolicies, watchEngine } from '../telemetry/watch-parts.ts'
import { createReports } from './bounces.ts'
import { rememberEarlierDeliveries } from './earlier-deliveries.ts'
import { startFirstAttempts } from './first-attempts.ts'
import type { Program } from './program.ts'

export interface Outbound {
  send: Send
  /** For readiness: `ok`, or what all servers lack of late without which no mail leaves. */
  mailState(): string
  /** Sends mails of the house; undefined without NOTIFY_FROM. */
  sendHouseMail: SendHouseMail | undefined
  /** undefined unless SIMULATOR_INBOX is true. */
  inbox: Inbox | undefined
  /** Resolves when the thread of first attempts makes them. */
  firstAttemptsStarted: Promise<void>
}

/** What a site does not demand still goes out in clear. */
const SENT_WITHOUT = ['tls', 'certificate', 'dane']

/** How long a shutdown waits for outcomes that cannot be stored. The sweeper settles the rest. */
const UNSTORED_MS = 10_000

interface Parts {
  sealer: Sealer
  resolver: WatchedResolver
  mayDial: Guard
  breaker: Breaker
}

/**
 * Starts what sends need: the simulator, the SMTP engine, the thread of first webhook attempts, and the recipe over all
 * three. A shutdown waits for every send, then for the attempts that began.
 */
export async function startOutbound(program: Program, parts: Parts): Promise<Outbound> {
  const { config, limits, log, db, clock, metrics, ends } = program
  const { sealer, breaker } = parts
  const inbox = config.simulatorInbox ? simulatorInbox(program, sealer) : undefined
  const simulator = createSimulator({ inbox, comesBack: simulatorReports(program, sealer) })
  await simulator.listen()
  ends.defer(() => simulator.close())
  const places = new SharedPlaces({
    db,
    clock,
    onError: (error) =>
      log.warn({ err: error }, 'places at sites could not be shared: nothing is dialled beyond those held'),
  })
  ends.defer(() => places.close())
  const engine = startEngine(program, parts, places.open)
  watchEngine(metrics, engine)
  ends.defer(() => engine.close())
  const hasStaticRoute = (domain: string) => config.smtpRoutes.has(domain)
  rememberEarlierDeliveries({ db, resolver: parts.resolver, engine, hasStaticRoute }, clock.now()).catch((error) =>
    log.warn({ err: error }, 'the servers that earlier processes reached could not be read'),
  )
  const dispatcher = startFirstAttempts(config, metrics)
  ends.defer(() => dispatcher.drain())
  const [returnPathKey] = sealer.deriveKeys('return-path')
  const senderDomains = createSenderDomains({ db, sealer })
  const sendParts: SendParts = {
    db,
    clock,
    engine,
    firstAttempts: dispatcher,
    senderDomains,
    simulated: simulator.route,
    hasStaticRoute,
    returnPath: (messageId, position, domain) =>
      `${makeReturnPath(returnPathKey, messageId, position)}@${domain.returnPathHost}`,
    region: config.dataRegion,
    sendBudgetMs: config.sendBudgetMs,
    storeContent: config.storeContent,
    poolSources: createPoolSources({ pools: () => limits.pools, isOwn, warmUp: createAddressWarmUp(db) }),
    limits,
    dailyVolume: createDailyVolume(db),
    monthlyVolume: createMonthlyVolume(db),
    breaker,
    suppressed: createSuppressionLookup(db, sealer),
  }
  const { send, idle } = trackSends(createSend(sendParts), { load: db.load, metrics })
  ends.defer(() => db.recording.idle(UNSTORED_MS))
  ends.defer(idle)
  const mailState = () => {
    const lack = engine.lacking().find((each) => !SENT_WITHOUT.includes(each))
    return lack ? `lacking ${lack}` : 'ok'
  }
  const sendHouseMail = houseMail(config, sendParts)
  return { send, mailState, sendHouseMail, inbox, firstAttemptsStarted: dispatcher.started }
}

/** The recipe of a send for the mails of the house. No metric of sends counts them. */
function houseMail({ notifyFrom: from }: Program['config'], parts: SendParts): SendHouseMail | undefined {
  if (from === undefined) return undefined
  const { db, sendBudgetMs } = parts
  const recipe = createSend(houseParts(parts))
  const send: Send = (message, options) => inFlight(db.load, () => recipe(message, options))
  return createSendHouseMail({ db, send, from, leaseMs: leaseOf(sendBudgetMs) })
}

/** Keeps only messages that this service sent: the code in their return path proves it. */
function simulatorInbox({ clock }: Program, sealer: Sealer): Inbox {
  const keys = sealer.deriveKeys('return-path')
  return new Inbox({
    messageIdOf: (returnPath) => readReturnPath(keys, returnPath.slice(0, returnPath.lastIndexOf('@')))?.messageId,
    newId: () => newId(clock.now()),
  })
}

/** The simulator's reports take the way of those that the bounce listener receives, whether or not it listens. */
function simulatorReports(program: Program, sealer: Sealer): (mail: MailBack) => void {
  const { addresseeOf, receive } = createReports(program, sealer)
  return createSendBack(async ({ to, content }) => {
    const addressee = addresseeOf(to)
    if (addressee) await receive({ ...addressee, content, remoteAddress: '' })
  })
}

function startEngine(
  { config, limits, log, clock, metrics }: Program,
  { resolver, mayDial }: Parts,
  openPlaces: OpenSitePlaces,
): WatchedEngine {
  let shapeOf = createShaping(limits.shaping)
  limits.onChange(({ shaping }) => {
    shapeOf = createShaping(shaping)
  })
  return createEngine({
    resolver,
    ...(config.dnssec === 'trust' && { tlsa: resolver.tlsa }),
    mayDial,
    policyOf: countPolicies(
      createStsPolicies({
        resolver,
        httpsGet: createHttpsGet({ lookup: createLookup(resolver), mayDial }),
        onTrouble(domain, cause) {
          metrics.stsFailures.add({})
          log.warn({ domain, cause }, 'an MTA-STS policy could not be read')
        },
      }),
      metrics,
    ),
    smtpPort: config.smtpPort,
    routes: config.smtpRoutes,
    heloName: config.smtpHeloName,
    sourceAddresses: config.smtpSourceAddresses,
    shapeOf: (site, domain) => shapeOf(site, domain),
    openPlaces,
    clockErrorMs: () => Date.now() - clock.now(),
    onLateReply({ mx, reply, outcome }, messageId) {
      metrics.lateReplies.add({ outcome: outcome.kind })
      log.warn(
        { message_id: messageId && publicId('msg', messageId), mx, code: reply?.code },
        'a verdict came after the response had said in_doubt',
      )
    },
  })
}
