import { randomBytes } from 'node:crypto'
import { create, type MessageInitShape } from '@bufbuild/protobuf'
import { onTestFinished } from 'vitest'
import { SendRequestSchema } from '../../gen/verdict/v1/emails_pb.ts'
import { createResolver } from '../../mail/dns/resolver.ts'
import type { EngineOptions } from '../../mail/smtp/engine.ts'
import { createEngine } from '../../mail/smtp/engine.ts'
import { createGuard } from '../../net/guard.ts'
import { DEFAULT_LIMITS } from '../../server/config/limits.ts'
import { createSealer } from '../../server/db/encryption.ts'
import { newId } from '../../server/db/ids.ts'
import { createDomain } from '../../server/domains/domains.ts'
import { makeReturnPath, readReturnPath } from '../../server/domains/return-path.ts'
import { createSenderDomains } from '../../server/domains/sender.ts'
import { LEFT_TO_TEMPORAL } from '../../server/ledger/first-attempts-offer.ts'
import { createBreaker } from '../../server/reputation/breaker.ts'
import { createMonthlyVolume } from '../../server/reputation/quota.ts'
import { createSuppressionLookup } from '../../server/reputation/suppression.ts'
import { createDailyVolume } from '../../server/reputation/warm-up.ts'
import { type Message, readSendRequest } from '../../server/sending/message.ts'
import { createSend, type SendOptions, type SendParts } from '../../server/sending/send.ts'
import { Inbox } from '../../server/simulator/inbox.ts'
import { createSimulator } from '../../server/simulator/simulator.ts'
import { createMetrics } from '../../server/telemetry/metrics.ts'
import { trackSends } from '../../server/telemetry/track-sends.ts'
import { testAccount } from '../harness/account.ts'
import { type DnsServerForTests, startDns } from '../harness/dns.ts'
import { startExchanger } from '../harness/exchanger.ts'
import type { TestDatabase } from '../harness/postgres.ts'
import { atEnd } from '../harness/until-end.ts'

export type World = Awaited<ReturnType<typeof startSendingWorld>>

/**
 * A send with everything real around it: Postgres, an account with the verified domain `example.test`, the engine, a
 * DNS server in which `example.net` has the exchanger as its MX, and the simulator with its inbox. It ends with its
 * test or file, unless it is on a database of its caller.
 */
export async function startSendingWorld(zone: DnsServerForTests['zone'] = {}, on?: TestDatabase) {
  const database = await testAccount(on)
  const { db, clock, accountId } = database
  const sealer = createSealer([{ id: 'k1', key: randomBytes(32) }])
  await createDomain({ db, sealer, clock }, { accountId, name: 'example.test', status: 'verified' })
  await createDomain({ db, sealer, clock }, { accountId, name: 'pending.test', status: 'pending' })

  const exchanger = await startExchanger()
  const dns = await startDns({
    'MX example.net': [
      { type: 'MX', name: 'example.net', ttl: 300, data: { preference: 10, exchange: 'mx.example.net' } },
    ],
    'A mx.example.net': [{ type: 'A', name: 'mx.example.net', ttl: 300, data: '127.0.0.1' }],
    'AAAA mx.example.net': 'nodata',
    ...zone,
  })
  const [returnPathKey] = sealer.deriveKeys('return-path')
  const inbox = new Inbox({
    messageIdOf: (returnPath) => readReturnPath([returnPathKey], returnPath.split('@')[0]!)?.messageId,
    newId: () => newId(clock.now()),
  })
  const simulator = createSimulator({ inbox })
  await simulator.listen()
  const senderDomains = createSenderDomains({ db, sealer })

  const engineWith = (more: Partial<EngineOptions> = {}) =>
    createEngine({
      resolver: createResolver({ servers: [dns.address] }),
      mayDial: createGuard({ allowSubnets: ['127.0.0.0/8'] }),
      smtpPort: exchanger.port,
      routes: new Map(),
      heloName: 'verdict.test',
      ...more,
    })
  const engine = engineWith()

  const sendParts = (more: Partial<SendParts> = {}): SendParts => ({
    db,
    clock,
    engine,
    senderDomains,
    firstAttempts: LEFT_TO_TEMPORAL,
    simulated: simulator.route,
    hasStaticRoute: () => false,
    returnPath: (id, position, domain) => `${makeReturnPath(returnPathKey, id, position)}@${domain.returnPathHost}`,
    region: 'eu',
    sendBudgetMs: 30_000,
    storeContent: false,
    limits: DEFAULT_LIMITS,
    poolSources: () => Promise.reject(new Error('no domain of these tests has a pool')),
    dailyVolume: createDailyVolume(db),
    monthlyVolume: createMonthlyVolume(db),
    breaker: createBreaker({ db, limits: DEFAULT_LIMITS }),
    suppressed: createSuppressionLookup(db, sealer),
    ...more,
  })

  const sendWith = (more: Partial<SendParts> = {}) => {
    const send = createSend(sendParts(more))
    return trackSends(send, { load: (more.db ?? db).load, metrics: createMetrics('api') }).send
  }

  /** A send without an idempotency key. */
  const sendAlone = (...more: Parameters<typeof sendWith>) => {
    const send = sendWith(...more)
    return async (message: Message, options: Omit<SendOptions, 'key'>) => (await send(message, options))!
  }

  /** The options of a send by the account. */
  const options = (more: Partial<Omit<SendOptions, 'key'>> = {}) => ({
    accountId,
    sandbox: false,
    signal: new AbortController().signal,
    ...more,
  })
  const send = (change: Change = {}, more: Parameters<typeof options>[0] = {}) =>
    sendAlone()(message(change), options(more))

  async function stop(): Promise<void> {
    engine.close()
    clock.stop()
    await Promise.all([exchanger.close(), dns.close(), simulator.close()])
  }
  if (!on) atEnd(stop)

  return {
    database,
    db,
    clock,
    sealer,
    account: { id: accountId },
    exchanger,
    dns,
    simulator,
    inbox,
    engine,
    engineWith,
    sendParts,
    sendWith,
    sendAlone,
    options,
    send,
    stop,
  }
}

type Change = Omit<MessageInitShape<typeof SendRequestSchema>, '$typeName'>

/** A checked message to `ann@example.net`, with changes. */
export function message(change: Change = {}) {
  const request = {
    to: ['ann@example.net'],
    from: 'Verdict <hello@example.test>',
    subject: 'Hello',
    text: 'Hi Ann',
    ...change,
  }
  return readSendRequest(create(SendRequestSchema, request))
}

/** Sets the exchanger's script for one test. */
export function script({ exchanger }: World, script: World['exchanger']['script']): void {
  exchanger.script = script
  exchanger.messages.length = 0
  exchanger.sessions.length = 0
  onTestFinished(() => {
    exchanger.script = {}
  })
}
