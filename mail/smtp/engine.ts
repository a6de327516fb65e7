import { domainOf } from '../address.ts'
import type { WatchedResolver } from '../dns/resolver.ts'
import type { Delivery, Host, MailSources, MxLookup, Site, SmtpAttempt, WatchedEngine } from './attempt.ts'
import { stuffDots } from './content.ts'
import { createDaneLookUp } from './dane.ts'
import { type DeliveryTools, deliverToDomain } from './domain-delivery.ts'
import { deadlinesOf, ENGINE_LIMITS, type EngineLimits } from './engine-limits.ts'
import { createHostMemory } from './host-memory.ts'
import { createLateReplies } from './late-replies.ts'
import { createMxLookUp, type MxOptions } from './mx.ts'
import { Pool } from './pool.ts'
import { createShaping, type ShapeOf } from './shaping.ts'
import { createShown, SHOWN_BY_SERVERS, type Shown, serverAt } from './shown.ts'
import type { OpenSitePlaces } from './site-places.ts'
import { createSlowSites } from './slow-sites.ts'
import { siteOfAddress, sourceFor } from './source-address.ts'
import { createTlsContexts } from './tls.ts'

// A delivery, in the order of the files (README.md has more words):
//
//   mx.ts, exchangers.ts, sts-policies.ts      where the mail of a domain goes: a site, or why there is none
//   engine.ts, source-address.ts               one delivery for each site and recipient domain, side by side
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
  /** How far this machine's clock is from the true time, as far as that is known. */
  clockErrorMs?: () => number
}

/** Looks up where the mail of a domain goes, and delivers there while the caller waits: SMTP and DNS with a verdict. */
export function createEngine(options: EngineOptions): WatchedEngine {
  const { heloName, onLateReply, random = Math.random, openPlaces, shapeOf = createShaping([]) } = options
  const { tlsa, smtpPort, sourceAddresses = [], clockErrorMs = () => 0 } = options
  const limits = { ...ENGINE_LIMITS, ...options.limits }
  const daneOf = tlsa && createDaneLookUp({ tlsa }, smtpPort)
  const lookUpMx = createMxLookUp({ ...options, daneOf, random })
  const pool = new Pool({ idleMs: limits.idleMs, openPlaces })
  const lateReplies = createLateReplies({ waitMs: limits.lateReplyMs, max: limits.lateReplies, onLateReply })
  const cleartextHosts = createHostMemory(limits.cleartextMs)
  const silentHosts = createHostMemory(limits.silentMs)
  const forgetfulHosts = createHostMemory(limits.forgetfulMs)
  const slowSites = createSlowSites(limits)
  const shown = createShown(limits.witnessPauseMs)
  const memories = { cleartextHosts, silentHosts, forgetfulHosts, shown }
  const opening = { heloName, tlsContexts: createTlsContexts(), ...memories, limits, clockErrorMs }
  const tools = { pool, lateReplies, slowSites, opening, sourceAddresses, shapeOf, random }

  return {
    lookUp(domain, asker) {
      if (!asker) return lookUpMx(domain)
      const { accountId, startedAtMs, budgetMs, signal } = asker
      const untilMs = deadlinesOf(startedAtMs, budgetMs, limits).placeMs
      const lookup = lookUpMx(domain, { accountId, untilMs, signal })
      return signal ? unlessAborted(lookup, signal) : lookup
    },
    deliver: (delivery) => deliver(tools, delivery),
    async remember(domain, verifiedMx) {
      const lookup = await lookUpMx(domain)
      if (lookup.kind !== 'site') return
      const { hosts, key, name: site = key } = lookup.site
      for (const host of hosts) {
        const known = host.name === verifiedMx ? SHOWN_BY_SERVERS.filter((each) => mayShow(host, each)) : KNOWN_OF_ALL
        for (const ip of host.addresses) for (const each of known) shown[each].remember(serverAt(ip, { host, site }))
      }
    },
    load: () => ({ ...pool.load(), late: lateReplies.waiting() }),
    lacking: () => SHOWN_BY_SERVERS.filter((each) => shown[each].isLacking()),
    close() {
      pool.close()
      lateReplies.close()
    },
  }
}

/** A host is verified by its TLSA records, or by the authorities. */
const mayShow = ({ dane }: Host, each: keyof Shown) => each !== (dane?.records.length ? 'certificate' : 'dane')

/** What each server of a domain that took a message is expected to show. */
const KNOWN_OF_ALL = ['connection', 'greeting', 'session'] as const

interface EngineTools extends DeliveryTools, Pick<Required<EngineOptions>, 'sourceAddresses' | 'shapeOf' | 'random'> {}

async function deliver(tools: EngineTools, delivery: Delivery): Promise<SmtpAttempt[]> {
  const calledAtMs = performance.now()
  const { limits } = tools.opening
  const { recipients, startedAtMs, ownMs = 0, sources = { addresses: tools.sourceAddresses } } = delivery
  for (const { address } of recipients) checkAddress(address, RECIPIENT)
  const transactions = transactionsOf(delivery)
  for (const { sender } of transactions) checkAddress(sender, SENDER)
  const content = 'pieces' in delivery.content ? delivery.content : stuffDots(delivery.content, delivery.isEightBit)
  const deadlines = deadlinesOf(startedAtMs, delivery.budgetMs, limits)
  let transactionsBegun = 0
  const nextTransaction = () => (recipients.length > 1 ? ++transactionsBegun : undefined)
  const sourced = await withSources(tools, transactions, sources)
  // The choice of an address asks the database.
  const shared = { ...delivery, content, deadlines, nextTransaction, ownMs: ownMs + performance.now() - calledAtMs }
  const attempts: SmtpAttempt[] = []
  const decided = sourced.map(async ({ source, isFirstOfSite, ...transaction }) => {
    if ('cause' in source) {
      for (const { index } of transaction.recipients) attempts[index] = notSent(source.cause, startedAtMs)
      return
    }
    const { site, domain } = transaction
    const ofSite = {
      siteOfAddress: siteOfAddress(site, domain, tools.shapeOf, source.address),
      sourceAddress: source.address,
      placeMs: isFirstOfSite ? deadlines.placeMs : deadlines.nextPlaceMs,
      commandMs: site.commandTimeoutMs ?? limits.commandMs,
    }
    const ended = await deliverToDomain(tools, { ...shared, ...transaction, ...ofSite })
    for (const { index, attempt } of ended) attempts[index] = attempt
  })
  await Promise.all(decided)
  return attempts
}

/** One address for each site: its transactions pass their connections on to each other. */
async function withSources(tools: EngineTools, transactions: Transaction[], sources: MailSources) {
  const firsts = transactions.filter(({ isFirstOfSite }) => isFirstOfSite)
  const chosen = firsts.map(async ({ site, domain }) => {
    const ofSite = transactions.filter((transaction) => transaction.site.key === site.key)
    const emails = ofSite.reduce((sum, { recipients }) => sum + recipients.length, 0)
    const source = await sourceFor({ site, domain, emails }, sources, tools)
    return ofSite.map((transaction) => ({ ...transaction, source }))
  })
  return (await Promise.all(chosen)).flat()
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

function notSent(cause: string, startedAtMs: number): SmtpAttempt {
  const durationMs = performance.now() - startedAtMs
  return { phase: 'connect', outcome: { kind: 'our_fault', cause }, tls: null, durationMs, timings: {} }
}

interface Transaction {
  site: Site
  domain: string
  sender: string
  /** In their order, with their indexes in the delivery. */
  recipients: { index: number; address: string }[]
  isFirstOfSite: boolean
}

/**
 * One transaction for each recipient domain, because its sender names the domain. The simulator's domain has several
 * sites, and then a transaction at each.
 */
function transactionsOf({ recipients, senderFor }: Delivery): Transaction[] {
  const transactions = new Map<string, Transaction>()
  for (const [index, { address, site }] of recipients.entries()) {
    const domain = domainOf(address).toLowerCase()
    const key = `${domain} ${site.key}`
    const transaction = transactions.get(key)
    const isFirstOfSite = recipients.findIndex((other) => other.site.key === site.key) === index
    if (transaction) transaction.recipients.push({ index, address })
    else {
      const sender = senderFor(domain)
      transactions.set(key, { site, domain, sender, recipients: [{ index, address }], isFirstOfSite })
    }
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
