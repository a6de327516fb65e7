import { isIPv6 } from 'node:net'
import type { Asker, Attempt, Delivery, Engine, Lookup, Site } from './attempt.ts'
import { stuffDots } from './content.ts'
import { createLateReplies } from './late-replies.ts'
import { deadlinesOf, LIMITS, type Limits } from './limits.ts'
import { createMxLookUp, type MxOptions } from './mx.ts'
import { createPool } from './pool.ts'
import { deliverToSite } from './site-delivery.ts'
import { createCleartextHosts, createTlsContexts } from './tls.ts'

export interface EngineOptions extends Omit<MxOptions, 'random'> {
  heloName: string
  /** Local addresses to send from, one of them by chance; the system's choice when there are none. */
  sourceAddresses?: readonly string[]
  random?: () => number
  /** The verdict that came after its caller had been told `in_doubt`, and the `reference` of his delivery. */
  onLateReply?: (attempt: Attempt, reference?: string) => void
  limits?: Partial<Limits>
}

/** SMTP and DNS with a verdict at the end: looks up where a domain's mail goes, and delivers there while the caller waits. */
export function createEngine(options: EngineOptions): Engine {
  const { heloName, onLateReply, random = Math.random } = options
  const limits = { ...LIMITS, ...options.limits }
  const lookUpMx = createMxLookUp({ ...options, random })
  const pool = createPool(limits)
  const lateReplies = createLateReplies({ waitMs: limits.lateReplyMs, max: limits.lateReplies, onLateReply })
  const cleartextHosts = createCleartextHosts(limits.cleartextMs)
  const opening = { heloName, tlsContexts: createTlsContexts(), cleartextHosts, limits }

  function lookUp(domain: string, asker?: Asker): Promise<Lookup> {
    if (!asker) return lookUpMx(domain)
    const { turn, startedAtMs, budgetMs, signal } = asker
    const found = lookUpMx(domain, { turn, untilMs: deadlinesOf(startedAtMs, budgetMs, limits).slotMs, signal })
    return signal ? orLeft(found, signal) : found
  }

  async function deliver(delivery: Delivery): Promise<Attempt[]> {
    const { sender, recipients, turn, startedAtMs, budgetMs, reference, signal } = delivery
    for (const address of [sender, ...recipients.map((recipient) => recipient.address)]) checkAddress(address)
    const content = stuffDots(delivery.content)
    const deadlines = deadlinesOf(startedAtMs, budgetMs, limits)
    const attempts: Attempt[] = []
    await Promise.all(
      groupBySite(recipients).map(async ({ site, indexes }) => {
        const some = await deliverToSite(
          { pool, lateReplies, opening },
          {
            site,
            sourceAddress: sourceFor(site),
            turn,
            sender,
            recipients: indexes.map((i) => recipients[i]!.address),
            content,
            reference,
            startedAtMs,
            deadlines,
            commandMs: site.commandTimeoutMs ?? limits.commandMs,
            beforeDot: (accepted) => delivery.beforeDot(accepted.map((i) => indexes[i]!)),
            signal,
          },
        )
        for (const [i, attempt] of some.entries()) attempts[indexes[i]!] = attempt
      }),
    )
    return attempts
  }

  /** One of ours, where there is one of a family the site can be reached by: nothing leaves from an address not listed. */
  function sourceFor({ hosts }: Site): string | undefined {
    const families = new Set(hosts.flatMap(({ addresses }) => addresses.map(isIPv6)))
    const { sourceAddresses = [] } = options
    const fitting = sourceAddresses.filter((address) => families.has(isIPv6(address)))
    return fitting[Math.floor(random() * fitting.length)] ?? sourceAddresses[0]
  }

  function close(): void {
    pool.close()
    lateReplies.close()
  }

  return { lookUp, deliver, close }
}

/** The look-up goes on for others that wait for the same answer. */
function orLeft(found: Promise<Lookup>, signal: AbortSignal): Promise<Lookup> {
  const { promise, resolve, reject } = Promise.withResolvers<Lookup>()
  const leave = () => resolve({ kind: 'our_fault', cause: 'the caller left' })
  signal.addEventListener('abort', leave)
  if (signal.aborted) leave()
  found.then(resolve, reject).finally(() => signal.removeEventListener('abort', leave))
  return promise
}

function groupBySite(recipients: Delivery['recipients']): { site: Site; indexes: number[] }[] {
  const groups = new Map<string, { site: Site; indexes: number[] }>()
  for (const [i, { site }] of recipients.entries()) {
    const group = groups.get(site.key) ?? { site, indexes: [] }
    group.indexes.push(i)
    groups.set(site.key, group)
  }
  return [...groups.values()]
}

const ADDRESS = /^(?:(?:"(?:[ !#-[\]-~]|\\[ -~])*"|[!#-;=?A-~]+)@[!#-;=?A-~]+)?$/

/** Syntax was checked long ago; this only makes sure that no address can ever be a command. Empty: the null sender. */
function checkAddress(address: string): void {
  if (!ADDRESS.test(address)) throw new TypeError('an address that is none')
}
