import { getServers } from 'node:dns'
import { isIP } from 'node:net'
import { createPlaces, ofOneTurn, type Patience } from '../slots.ts'
import { aliasIn, type DnsRecord, type DnsResponse, type RecordType } from './message.ts'
import { type DnsServer, queryDns } from './query.ts'

export interface Exchange {
  /** As in `DnsRecord`; empty for the root, as in a null MX. */
  name: string
  preference: number
}

export type Answer<T> =
  | { kind: 'records'; records: T[]; ttlS: number }
  | { kind: 'nxdomain' }
  /** The name exists and has no record of that type. */
  | { kind: 'nodata' }
  /**
   * SERVFAIL, REFUSED, silence or garbage, which prove nothing about the name. With `notAsked` no server was asked,
   * because no place became free, so it proves nothing about the servers either.
   */
  | { kind: 'failure'; cause: string; notAsked?: true }

/** The turn that a look-up belongs to, and how long it may wait for its place. */
export interface LookUpPatience extends Patience {
  turn?: string
}

/** Answers from its cache at once. Only a number of questions are asked at a time, and others wait: see `Places`. */
export interface Resolver {
  mx(name: string, patience?: LookUpPatience): Promise<Answer<Exchange>>
  a(name: string, patience?: LookUpPatience): Promise<Answer<string>>
  aaaa(name: string, patience?: LookUpPatience): Promise<Answer<string>>
  /** The strings of each record, joined; each octet is a character (latin1). */
  txt(name: string, patience?: LookUpPatience): Promise<Answer<string>>
}

interface ResolverOptions {
  /** `ip` or `ip:port`, asked in turn; the system's servers when absent. */
  servers?: readonly string[]
  tryTimeoutMs?: number
  /** The most questions that are asked at the same time; each one has a socket. */
  questions?: number
  /** Milliseconds on any steady clock. */
  now?: () => number
}

export const BUSY = 'too many look-ups at a time'

const TRIES = 2
const QUESTIONS = 500
const TRY_TIMEOUT_MS = 1_000
const MAX_TTL_S = 3_600
const NEGATIVE_TTL_S = 60
const MAX_CACHED = 10_000
/**
 * A longer answer is cut to its first records (the most preferred exchangers), so that no domain can fill the memory.
 */
const MAX_RECORDS = 50
const MAX_CNAMES = 8
/** An answer with more text than this is not cached, for the same reason. */
const MAX_CACHED_TEXT = 8_192

const HOST_NAME = /^(?=.{1,253}$)[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})*$/

/**
 * A resolver that caches by TTL and never caches failures. Node's own resolver does not report the TTL of an MX record,
 * and waits 25 s for a silent server.
 */
export function createResolver(options: ResolverOptions = {}): Resolver {
  const servers = (options.servers ?? getServers()).map(parseServer)
  const { tryTimeoutMs = TRY_TIMEOUT_MS, questions = QUESTIONS, now = () => performance.now() } = options
  const places = createPlaces({ places: questions, perTurn: ofOneTurn(questions) })
  const cache = new Map<string, { answer: Answer<unknown>; untilMs: number }>()
  const inFlight = new Map<string, Promise<Answer<unknown>>>()

  async function resolve<T>(
    type: RecordType,
    name: string,
    { turn = '', ...wait }: LookUpPatience = {},
  ): Promise<Answer<T>> {
    const host = name.toLowerCase().replace(/\.$/, '')
    if (!HOST_NAME.test(host)) return { kind: 'nxdomain' }
    const key = `${type} ${host}`
    const current = currentAnswer(key)
    if (current) return current as Answer<T> | Promise<Answer<T>>
    const free = places.takeNow(turn) ?? (await places.take(turn, wait))
    if (!free) return { ...failure(host, type, BUSY), notAsked: true }
    // Another caller may have asked meanwhile. A question that still waits in the line of another turn is not shared:
    // it
    // could wait long.
    const newer = currentAnswer(key)
    if (newer) free()
    return (newer ?? launch(key, ask(host, type).finally(free))) as Promise<Answer<T>>
  }

  /** The cached answer, or the answer of a question in flight. */
  function currentAnswer(key: string): Answer<unknown> | Promise<Answer<unknown>> | undefined {
    const hit = cache.get(key)
    return hit && hit.untilMs > now() ? hit.answer : inFlight.get(key)
  }

  function launch(key: string, question: Promise<Answer<unknown>>): Promise<Answer<unknown>> {
    const flight = question.then((answer) => {
      inFlight.delete(key)
      keep(key, answer)
      return answer
    })
    inFlight.set(key, flight)
    return flight
  }

  function keep(key: string, answer: Answer<unknown>): void {
    cache.delete(key)
    const ttlS = answer.kind === 'records' ? answer.ttlS : answer.kind === 'failure' ? 0 : NEGATIVE_TTL_S
    if (ttlS === 0 || textLengthOf(answer) > MAX_CACHED_TEXT) return
    if (cache.size >= MAX_CACHED) cache.delete(cache.keys().next().value!)
    cache.set(key, { answer, untilMs: now() + ttlS * 1_000 })
  }

  async function ask(name: string, type: RecordType): Promise<Answer<unknown>> {
    let answer: Answer<unknown> = { kind: 'failure', cause: 'no DNS server is configured' }
    for (let attempt = 0; attempt < TRIES && answer.kind === 'failure' && servers.length > 0; attempt++) {
      const response = await queryDns(servers[attempt % servers.length]!, name, type, tryTimeoutMs)
      answer = 'failure' in response ? failure(name, type, response.failure) : answerIn(response, name, type)
    }
    return answer
  }

  return {
    mx: (name, patience) => resolve('MX', name, patience),
    a: (name, patience) => resolve('A', name, patience),
    aaaa: (name, patience) => resolve('AAAA', name, patience),
    txt: (name, patience) => resolve('TXT', name, patience),
  }
}

function failure(name: string, type: RecordType, cause: string) {
  return { kind: 'failure' as const, cause: `DNS ${type} ${name}: ${cause}` }
}

/** RFC 1035 4.1.1: the RCODEs that prove nothing about a name. */
export const RCODES: Record<number, string> = { 1: 'FORMERR', 2: 'SERVFAIL', 4: 'NOTIMP', 5: 'REFUSED' }

function answerIn(
  { rcode, answers, isAuthoritative, offersRecursion }: DnsResponse,
  name: string,
  type: RecordType,
): Answer<unknown> {
  if (rcode !== 0 && rcode !== 3) return failure(name, type, RCODES[rcode] ?? `RCODE ${rcode}`)
  const records = rcode === 0 ? followAliases(answers, name, type) : undefined
  if (records) return records
  // A server that has no authority over the name and offers no recursion has only referred us elsewhere.
  if (!isAuthoritative && !offersRecursion) return failure(name, type, 'no recursion')
  return { kind: rcode === 3 ? 'nxdomain' : 'nodata' }
}

/** The records of `name`, or of the alias it leads to within the answer (RFC 1034 3.6.2). */
function followAliases(answers: DnsRecord[], name: string, type: RecordType) {
  let owner = name
  let ttlS = MAX_TTL_S
  for (let hop = 0; hop <= MAX_CNAMES; hop++) {
    const owned = answers.filter((record) => record.name === owner)
    const records = owned.filter((record) => record.type === type)
    for (const record of records) ttlS = Math.min(ttlS, ttlOf(record))
    if (records.length > 0) return { kind: 'records' as const, records: valuesOf(records).slice(0, MAX_RECORDS), ttlS }
    const alias = aliasIn(owned)
    if (!alias) return undefined
    ttlS = Math.min(ttlS, ttlOf(alias))
    owner = alias.target
  }
}

function valuesOf(records: DnsRecord[]): (Exchange | string)[] {
  const exchanges: Exchange[] = []
  const texts: string[] = []
  for (const record of records) {
    if (record.type === 'MX') exchanges.push({ name: record.exchange, preference: record.preference })
    else if (record.type === 'A' || record.type === 'AAAA') texts.push(record.address)
    else if (record.type === 'TXT') texts.push(record.text)
  }
  exchanges.sort((a, b) => a.preference - b.preference || (a.name < b.name ? -1 : 1))
  return exchanges.length > 0 ? exchanges : texts
}

function textLengthOf(answer: Answer<unknown>): number {
  if (answer.kind !== 'records') return 0
  return answer.records.reduce<number>((sum, record) => sum + (typeof record === 'string' ? record.length : 0), 0)
}

/** RFC 2181 8: a TTL with its highest bit set counts as zero. */
function ttlOf({ ttlS }: { ttlS: number }): number {
  return ttlS > 0x7fffffff ? 0 : ttlS
}

/** Reads `ip` or `ip:port`. Throws on anything else. */
export function parseServer(server: string): DnsServer {
  if (isIP(server) !== 0) return { address: server, port: 53 }
  const [, address = '', port = ''] = /^\[?([^[\]]+)\]?:(\d{1,5})$/.exec(server) ?? []
  if (isIP(address) === 0) throw new TypeError(`not a DNS server: ${server} (192.0.2.53 or 192.0.2.53:5353)`)
  return { address, port: Number(port) }
}
