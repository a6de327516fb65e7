import { isIPv6 } from 'node:net'
import type { Asker, Delivery, MxLookup, Site, SmtpAttempt, WatchedEngine } from './attempt.ts'
import { stuffDots } from './content.ts'
import { deliverToDomain } from './domain-delivery.ts'
import { deadlinesOf, ENGINE_LIMITS, type EngineLimits } from './engine-limits.ts'
import { createLateReplies } from './late-replies.ts'
import { createMxLookUp, type MxOptions } from './mx.ts'
import { createPool } from './pool.ts'
import { createSlowSites } from './slow-sites.ts'
import { createCleartextHosts, createTlsContexts } from './tls.ts'

// A delivery, in the order of the files (README.md has more words):
//
//   mx.ts, exchangers.ts, sts-policies.ts      where the mail of a domain goes: a site, or why there is none
//   engine.ts                                  one delivery for each site and recipient domain, side by side
//   domain-delivery.ts, lane.ts                connections of the site, and what is sent over each of them
//   pool.ts, site-pace.ts, slow-sites.ts       the places of a site, and what is remembered of it
//   next-hosts.ts, note-result.ts              the next host when one fails, the next transaction when one is too small
//   ledger.ts                                  which recipients wait, and the attempts of the others
//   session.ts, dial-host.ts, tls.ts, wire.ts  an open connection: greeting, EHLO, STARTTLS, lines in and out
//   transaction.ts, envelope.ts, content.ts    MAIL, RCPT, DATA, the content, permission, the dot
//   reply.ts, classify.ts, rules.ts            what a reply says; failure.ts for everything that is no reply
//   late-replies.ts                            the reply that comes after its caller was told `in_doubt`

export interface EngineOptions extends Omit<MxOptions, 'random'> {
  heloName: string
  /** Local addresses to send from, chosen at random; the system chooses when there are none. */
  sourceAddresses?: readonly string[]
  random?: () => number
  /**
   * Called with the verdict that came after its caller had been told `in_doubt`, and with the `reference` of the
   * delivery.
   */
  onLateReply?: (attempt: SmtpAttempt, reference?: string) => void
  limits?: Partial<EngineLimits>
}

/** Looks up where the mail of a domain goes, and delivers there while the caller waits: SMTP and DNS with a verdict. */
export function createEngine(options: EngineOptions): WatchedEngine {
  const { heloName, onLateReply, random = Math.random } = options
  const limits = { ...ENGINE_LIMITS, ...options.limits }
  const lookUpMx = createMxLookUp({ ...options, random })
  const pool = createPool(limits)
  const lateReplies = createLateReplies({ waitMs: limits.lateReplyMs, max: limits.lateReplies, onLateReply })
  const cleartextHosts = createCleartextHosts(limits.cleartextMs)
  const slowSites = createSlowSites(limits)
  const opening = { heloName, tlsContexts: createTlsContexts(), cleartextHosts, limits }

  function lookUp(domain: string, asker?: Asker): Promise<MxLookup> {
    if (!asker) return lookUpMx(domain)
    const { accountId, startedAtMs, budgetMs, signal } = asker
    const lookup = lookUpMx(domain, { accountId, untilMs: deadlinesOf(startedAtMs, budgetMs, limits).slotMs, signal })
    return signal ? unlessAborted(lookup, signal) : lookup
  }

  async function deliver(delivery: Delivery): Promise<SmtpAttempt[]> {
    const { from, recipients, accountId, startedAtMs, budgetMs, reference, signal, onPhase } = delivery
    for (const { address } of recipients) checkAddress(address, RECIPIENT)
    const transactions = transactionsOf(delivery)
    for (const { sender } of transactions) checkAddress(sender, SENDER)
    const content = stuffDots(delivery.content, delivery.isEightBit)
    const deadlines = deadlinesOf(startedAtMs, budgetMs, limits)
    const attempts: SmtpAttempt[] = []
    let transactionsBegun = 0
    const sourceAddresses = sourcesOf(recipients)
    await Promise.all(
      transactions.map(async ({ site, sender, indexes, isFirstOfSite }) => {
        const domainAttempts = await deliverToDomain(
          { pool, lateReplies, slowSites, opening },
          {
            site,
            sourceAddress: sourceAddresses.get(site.key),
            accountId,
            sender,
            from,
            recipients: indexes.map((i) => recipients[i]!.address),
            content,
            reference,
            startedAtMs,
            deadlines,
            slotMs: isFirstOfSite ? deadlines.slotMs : deadlines.nextSlotMs,
            commandMs: site.commandTimeoutMs ?? limits.commandMs,
            nextTransaction: () => (recipients.length > 1 ? ++transactionsBegun : undefined),
            beforeDot: (accepted) => delivery.beforeDot(accepted.map((i) => indexes[i]!)),
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
  function sourcesOf(recipients: Delivery['recipients']): Map<string, string | undefined> {
    const sites = new Map(recipients.map(({ site }) => [site.key, site]))
    return new Map([...sites].map(([key, site]) => [key, sourceFor(site)]))
  }

  /**
   * One of our addresses, if possible of a family that reaches the site. No mail leaves from an address that is not
   * listed.
   */
  function sourceFor({ hosts }: Site): string | undefined {
    const families = new Set(hosts.flatMap(({ addresses }) => addresses.map(isIPv6)))
    const { sourceAddresses = [] } = options
    const matching = sourceAddresses.filter((address) => families.has(isIPv6(address)))
    return matching[Math.floor(random() * matching.length)] ?? sourceAddresses[0]
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

interface Transaction {
  site: Site
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
    const domain = address.slice(address.lastIndexOf('@') + 1).toLowerCase()
    const key = `${domain} ${site.key}`
    const transaction = transactions.get(key)
    const isFirstOfSite = recipients.findIndex((other) => other.site.key === site.key) === i
    if (transaction) transaction.indexes.push(i)
    else transactions.set(key, { site, sender: senderFor(domain), indexes: [i], isFirstOfSite })
  }
  return [...transactions.values()]
}

const SENDER = /^(?:(?:"(?:[ !#-[\]-~]|\\[ -~])*"|[!#-;=?A-~]+)@[!#-;=?A-~]+)?$/
const LETTERS = '\\u{a0}-\\u{d7ff}\\u{e000}-\\u{10ffff}'
const RECIPIENT = new RegExp(`^(?:"(?:[ !#-\\[\\]-~${LETTERS}]|\\\\[ -~])*"|[!#-;=?A-~${LETTERS}]+)@[!#-;=?A-~]+$`, 'u')

/** Makes sure that no address can ever be a command; its syntax was checked long before. Empty is the null sender. */
function checkAddress(address: string, syntax: RegExp): void {
  if (!syntax.test(address)) throw new TypeError('not an address that can stand in an SMTP command')
}
