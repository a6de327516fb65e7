import { afterAll } from 'vitest'
import type { Resolver } from '../../../mail/dns/resolver.ts'
import type { Delivery, Engine, Host, Site, SmtpAttempt, WatchedEngine } from '../../../mail/smtp/attempt.ts'
import { createEngine, type EngineOptions } from '../../../mail/smtp/engine.ts'
import { type Exchanger, startExchanger } from '../../harness/exchanger.ts'
import type { Script } from '../../harness/smtp-script.ts'

const engines: Engine[] = []
const exchangers: Exchanger[] = []

afterAll(async () => {
  for (const engine of engines.splice(0)) engine.close()
  await Promise.all(exchangers.splice(0).map((exchanger) => exchanger.close()))
})

/** A resolver that asks no server: these tests build their sites themselves. */
const NO_DNS: Resolver = {
  mx: async () => ({ kind: 'nxdomain' }),
  a: async () => ({ kind: 'nxdomain' }),
  aaaa: async () => ({ kind: 'nxdomain' }),
  txt: async () => ({ kind: 'nxdomain' }),
}

/** The response to EHLO of a server that offers TLS. */
export const OFFER = '250-mx.test\r\n250-PIPELINING\r\n250 STARTTLS'

/** Short deadlines, for tests. */
export const QUICK = {
  dotMs: 10_000,
  dotShareAtMost: 0.5,
  connectMs: 2_000,
  raceMs: 50,
  commandMs: 1_000,
  idleMs: 3_000,
}

export const engineWith: (options?: Partial<EngineOptions>) => Engine = watchedEngineWith

export function watchedEngineWith({ limits, ...options }: Partial<EngineOptions> = {}): WatchedEngine {
  const engine = createEngine({
    resolver: NO_DNS,
    mayDial: () => true,
    smtpPort: 25,
    routes: new Map(),
    heloName: 'sender.test',
    limits: { ...QUICK, ...limits },
    ...options,
  })
  engines.push(engine)
  return engine
}

export async function exchangerWith(...args: [Script?, Parameters<typeof startExchanger>[1]?, string?]) {
  const exchanger = await startExchanger(...args)
  exchangers.push(exchanger)
  return exchanger
}

export function hostOf({ host, port }: { host: string; port: number }, name = 'mx1.example.test'): Host {
  return { name, preference: 0, addresses: [host], port }
}

/** Hosts named mx1, mx2, ... in this order. */
export function siteOf(...places: { host: string; port: number }[]): Site {
  const hosts = places.map((place, i) => hostOf(place, `mx${i + 1}.example.test`))
  return { key: hosts.map(({ port }) => port).join(','), hosts }
}

export const CONTENT = [Buffer.from('Subject: hello\r\n\r\nHello.\r\n')]

interface DeliveryParts extends Partial<Delivery> {
  /** The envelope sender for every domain. */
  sender?: string
}

export function deliveryTo(site: Site, { sender = 'sender@sender.test', ...more }: DeliveryParts = {}): Delivery {
  return {
    senderFor: () => sender,
    recipients: [{ address: 'user@example.test', site }],
    content: CONTENT,
    startedAtMs: performance.now(),
    budgetMs: 20_000,
    beforeDot: async () => true,
    ...more,
  }
}

/** One message to one recipient of the site. */
export async function send(engine: Engine, site: Site, more: DeliveryParts = {}): Promise<SmtpAttempt> {
  const [attempt] = await engine.deliver(deliveryTo(site, more))
  return attempt!
}

/** The name of the outcome: `delivered`, `mailbox_full`, `in_doubt`, `our_fault`. */
export function outcomeOf({ outcome }: SmtpAttempt): string {
  return outcome.kind === 'bounced' ? outcome.reason : outcome.kind
}

/** A port of loopback without a listener. */
export async function closedPort(): Promise<{ host: string; port: number }> {
  const exchanger = await startExchanger()
  await exchanger.close()
  return { host: '127.0.0.1', port: exchanger.port }
}
