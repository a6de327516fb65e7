import { isIPv6 } from 'node:net'
import { domainOf } from '../address.ts'
import type { WatchedResolver } from '../dns/resolver.ts'
import type { Asker, Delivery, MailSources, MxLookup, Site, SmtpAttempt, WatchedEngine } from './attempt.ts'
import { stuffDots } from './content.ts'
import { createDaneLookUp } from './dane.ts'
import { deliverToDomain } from './domain-delivery.ts'
import { deadlinesOf, ENGINE_LIMITS, type EngineLimits } from './engine-limits.ts'
import { createHostMemory } from './host-memory.ts'
import { createLateReplies } from './late-replies.ts'
import { createMxLookUp, type MxOptions } from './mx.ts'
import { createPool } from './pool.ts'
import { createShaping, type ShapeOf } from './shaping.ts'
import type { OpenSitePlaces, SiteOfAddress } from './site-places.ts'
import { createSlowSites } from './slow-sites.ts'
import { createTlsContexts } from './tls.ts'

// A delivery, in the order of the files (README.md has more words):
//
//   mx.ts, exchangers.ts, sts-policies.ts      where the mail of a domain goes: a site, or why there is none
//   engine.ts                                  one delivery for each site and recipient domain, side by side
//   domain-delivery.ts, lane.ts                connections of the site, and what is sent over each of them
//   pool.ts, site-connections.ts               a place at the site, and what becomes of its connection
//   site-pace.ts, slow-sites.ts                what is remembered of a site
//   next-hosts.ts, note-result.ts              the next host when one fails, the next transaction when one is too small
//   recipient-queue.ts                         which recipients wait, and the attempts of the others
//   session.ts, dial-host.ts, tls.ts, wire.ts  an open connection: greeting, EHLO, STARTTLS, lines in and out
//   transaction.ts, envelope.ts, content.ts    MAIL, RCPT, DATA, the content, permission, the dot
//   reply.ts, classify.ts, rules.ts            what a reply says; failure.ts for everything that is no reply
//   late-replies.ts                            the reply that comes after its caller was told `in_doubt`

export interface EngineOptions extends Omit<MxOptions, 'random' | 'daneOf'> {
  /** Looks up TLSA records, of a resolver that validates. Without it there is no DANE. */
  tlsa?: WatchedResolver['tlsa']
  heloName: string
  /** Local addresses to send from, chosen at random; the system chooses when there are none. */
  sourceAddresses?: readonly string[]
  random?: () => number
  /** The limits of each site; by default those of the providers. */
  shapeOf?: ShapeOf
  /** By default no other process sends from the same addresses. */
  openPlaces?: OpenSitePlaces
  /**
   * Called with the verdict that came after its caller had been told `in_doubt`, and with the `reference` of the
   * delivery.
   */
  onLateReply?: (attempt: SmtpAttempt, reference?: string) => void
  limits?: Partial<EngineLimits>
}

/** Looks up where the mail of a domain goes, and delivers there while the caller waits: SMTP and DNS with a verdict. */
export function createEngine(options: EngineOptions): WatchedEngine {
  const { heloName, onLateReply, random = Math.random, openPlaces, shapeOf = createShaping([]) } = options
  const limits = { ...ENGINE_LIMITS, ...options.limits }
  const { tlsa, smtpPort } = options
  const daneOf = tlsa && createDaneLookUp({ tlsa }, smtpPort)
  const lookUpMx = createMxLookUp({ ...options, daneOf, random })
  const pool = createPool({ idleMs: limits.idleMs, openPlaces })
  const lateReplies = createLateReplies({ waitMs: limits.lateReplyMs, max: limits.lateReplies, onLateReply })
  const cleartextHosts = createHostMemory(limits.cleartextMs)
  const silentHosts = createHostMemory(limits.silentMs)
  const forgetfulHosts = createHostMemory(limits.forgetfulMs)
  const slowSites = createSlowSites(limits)
  const { sourceAddresses = [] } = options
  const opening = { heloName, tlsContexts: createTlsContexts(), cleartextHosts, silentHosts, forgetfulHosts, limits }

  function lookUp(domain: string, asker?: Asker): Promise<MxLookup> {
    if (!asker) return lookUpMx(domain)
    const { accountId, startedAtMs, budgetMs, signal } = asker
    const lookup = lookUpMx(domain, { accountId, untilMs: deadlinesOf(startedAtMs, budgetMs, limits).placeMs, signal })
    return signal ? unlessAborted(lookup, signal) : lookup
  }

  async function deliver(delivery: Delivery): Promise<SmtpAttempt[]> {
    const calledAtMs = performance.now()
    const { from, recipients, accountId, startedAtMs, ownMs = 0, budgetMs, reference, signal, onPhase } = delivery
    for (const { address } of recipients) checkAddress(address, RECIPIENT)
    const transactions = transactionsOf(delivery)
    for (const { sender } of transactions) checkAddress(sender, SENDER)
    const content = 'pieces' in delivery.content ? delivery.content : stuffDots(delivery.content, delivery.isEightBit)
    const deadlines = deadlinesOf(startedAtMs, budgetMs, limits)
    const attempts: SmtpAttempt[] = []
    let transactionsBegun = 0
    const sources = await chooseSources(transactions, delivery.sources)
    await Promise.all(
      transactions.map(async ({ site, domain, sender, indexes, isFirstOfSite }) => {
        const source = sources.get(site.key)!
        if ('cause' in source) {
          for (const i of indexes) attempts[i] = notSent(source.cause, startedAtMs)
          return
        }
        const sourceAddress = source.address
        const toAll = (i: number) => indexes[i]!
        const domainAttempts = await deliverToDomain(
          { pool, lateReplies, slowSites, opening },
          {
            site,
            siteOfAddress: siteOfAddress(site, domain, sourceAddress),
            sourceAddress,
            accountId,
            sender,
            from,
            recipients: indexes.map((i) => recipients[i]!.address),
            content,
            reference,
            startedAtMs,
            // The choice of an address asks the database.
            ownMs: ownMs + performance.now() - calledAtMs,
            deadlines,
            placeMs: isFirstOfSite ? deadlines.placeMs : deadlines.nextPlaceMs,
            commandMs: site.commandTimeoutMs ?? limits.commandMs,
            nextTransaction: () => (recipients.length > 1 ? ++transactionsBegun : undefined),
            beforeDot: (accepted, refused) => delivery.beforeDot(accepted.map(toAll), refused.map(toAll)),
            signal,
            onPhase,
          },
        )
        for (const [i, attempt] of domainAttempts.entries()) attempts[indexes[i]!] = attempt
      }),
    )
    return attempts
  }

  /** One address for each site: its transactions pass their connections on to each other. */
  async function chooseSources(transactions: Transaction[], sources: MailSources = { addresses: sourceAddresses }) {
    const bySite = Map.groupBy(transactions, ({ site }) => site.key)
    const chosen = [...bySite].map(async ([key, [first, ...others]]): Promise<[string, Source]> => {
      const emails = [first!, ...others].reduce((sum, { indexes }) => sum + indexes.length, 0)
      return [key, await sourceFor(first!, emails, sources)]
    })
    return new Map(await Promise.all(chosen))
  }

  /**
   * One of the addresses, if possible of a family that reaches the site. No mail leaves from an address that is not
   * listed.
   */
  async function sourceFor({ site, domain }: Transaction, emails: number, sources: MailSources): Promise<Source> {
    if (sources.addresses.length === 0) return {}
    const families = new Set(site.hosts.flatMap(({ addresses }) => addresses.map(isIPv6)))
    const matching = sources.addresses.filter((address) => families.has(isIPv6(address)))
    const usable = matching.length > 0 ? matching : sources.addresses.slice(0, 1)
    if (!sources.choose || site.limits) return { address: usable[Math.floor(random() * usable.length)] }
    const provider = shapeOf(site, domain).provider ?? site.name ?? site.key
    const address = await sources.choose(usable, provider, emails)
    return address === undefined ? { cause: `no address may send more emails to ${provider} today` } : { address }
  }

  function siteOfAddress(site: Site, domain: string, address = ''): SiteOfAddress {
    if (site.limits)
      return { key: `${address} ${site.key}`, address, name: site.key, limits: site.limits, isPrivate: true }
    const { limits: shaped, isOwnSite } = shapeOf(site, domain)
    const name = isOwnSite ? domain : (site.name ?? site.key)
    return { key: `${address} ${isOwnSite ? `${domain} ` : ''}${site.key}`, address, name, limits: shaped }
  }

  function close(): void {
    pool.close()
    lateReplies.close()
  }

  return { lookUp, deliver, load: () => ({ ...pool.load(), late: lateReplies.waiting() }), close }
}

/** Stops waiting on an abort. The look-up itself goes on for other callers that wait for the same answer. */
function unlessAborted(lookup: Promise<MxLookup>, signal: AbortSignal): Promise<MxLookup> {
  const { promise, resolve, reject } = Promise.withResolvers<MxLookup>()
  const giveUp = () => resolve({ kind: 'our_fault', cause: 'the caller left' })
  signal.addEventListener('abort', giveUp)
  if (signal.aborted) giveUp()
  lookup.then(resolve, reject).finally(() => signal.removeEventListener('abort', giveUp))
  return promise
}

/** The address that mail to a site leaves from, or why there is none. The system chooses where both are absent. */
type Source = { address?: string } | { cause: string }

function notSent(cause: string, startedAtMs: number): SmtpAttempt {
  const durationMs = performance.now() - startedAtMs
  return { phase: 'connect', outcome: { kind: 'our_fault', cause }, tls: null, durationMs, timings: {} }
}

interface Transaction {
  site: Site
  domain: string
  sender: string
  /** The indexes of its recipients, in their order. */
  indexes: number[]
  isFirstOfSite: boolean
}

/**
 * One transaction for each recipient domain, because its sender names the domain. The simulator's domain has several
 * sites, and then a transaction at each.
 */
function transactionsOf({ recipients, senderFor }: Delivery): Transaction[] {
  const transactions = new Map<string, Transaction>()
  for (const [i, { address, site }] of recipients.entries()) {
    const domain = domainOf(address).toLowerCase()
    const key = `${domain} ${site.key}`
    const transaction = transactions.get(key)
    const isFirstOfSite = recipients.findIndex((other) => other.site.key === site.key) === i
    if (transaction) transaction.indexes.push(i)
    else transactions.set(key, { site, domain, sender: senderFor(domain), indexes: [i], isFirstOfSite })
  }
  return [...transactions.values()]
}

const SENDER = /^(?:(?:"(?:[ !#-[\]-~]|\\[ -~])*"|[!#-;=?A-~]+)@[!#-;=?A-~]+)?$/
const LETTERS = '\\u{a0}-\\u{d7ff}\\u{e000}-\\u{10ffff}'
const RECIPIENT = new RegExp(`^(?:"(?:[ !#-\\[\\]-~${LETTERS}]|\\\\[ -~])*"|[!#-;=?A-~${LETTERS}]+)@[!#-;=?A-~]+$`, 'u')

/** Makes sure that no address can ever be a command; its syntax was checked long before. Empty is the null sender. */
function checkAddress(address: string, syntax: RegExp): void {
  if (!syntax.test(address)) throw new TypeError('not an address that an SMTP command can carry')
}
