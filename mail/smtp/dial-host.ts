import { connect, isIPv6, type Socket } from 'node:net'
import { endedBy, SHORTAGES } from '../../net/own-errors.ts'
import { Alarm, unblocked } from './alarm.ts'
import type { Host } from './attempt.ts'
import type { EngineLimits } from './engine-limits.ts'
import { type Shown, serverAt, type WitnessVisit } from './shown.ts'

export interface HostConnection {
  kind: 'connected'
  socket: Socket
  ip: string
}

export interface ConnectFailure {
  kind: 'not_connected'
  /**
   * `local`: a fault of this machine, which proves nothing about the other one. `unreachable`: this machine has no way
   * to it, such as a route. `other_family`: this machine need not have the family of its addresses.
   */
  how: 'closed' | 'timeout' | 'left' | 'local' | 'unreachable' | 'other_family'
  detail: string
  ip?: string
  /** As in `BrokenWire`. */
  silentMs?: number
}

/**
 * The first kind in this list decides when all addresses failed. A fault of this machine comes first: if it kept one
 * address from being tried, nothing is proved about the host. An address to which we have no way counts as not tried.
 */
const DECIDING: ConnectFailure['how'][][] = [['local'], ['closed', 'timeout'], ['unreachable'], ['other_family']]
/** The most addresses that are tried. */
const MAX_ADDRESSES = 8

/** Errors by which the other machine itself answers, or a firewall of ours. */
const ANSWERS = ['ECONNREFUSED', 'ECONNRESET']

/** An address that was silent for this many races was not reached. By then most servers have answered. */
const RACES = 4

interface DialOptions {
  host: Host
  /** The key of the host's site, without a demand of TLS. */
  site: string
  reach: Shown['connection']
  /** Visits a witness. */
  visit?: WitnessVisit
  sourceAddress?: string
  untilMs: number
  /** How long an address may be silent. */
  connectMs: number
  limits: EngineLimits
  signal?: AbortSignal
}

/**
 * Opens a TCP connection to the first address that accepts one. The next address is tried too as soon as one has failed
 * or was silent for `raceMs` (as in RFC 8305), so a dead address or family costs no time.
 */
export function dialHost(options: DialOptions): Promise<HostConnection | ConnectFailure> {
  const { promise, resolve } = Promise.withResolvers<HostConnection | ConnectFailure>()
  new Dial(options, resolve).start()
  return promise
}

class Dial {
  readonly #options: DialOptions
  readonly #resolve: (result: HostConnection | ConnectFailure) => void
  readonly #addresses: readonly string[]
  readonly #tries = new Map<string, { socket: Socket; alarm: Alarm }>()
  readonly #failures: (ConnectFailure & { isUnreached: boolean; isAnswered: boolean })[] = []
  readonly #startedAtMs = performance.now()
  readonly #silenceMs: number
  #next = 0
  #raceTimer: NodeJS.Timeout | undefined
  readonly #silenceTimers: NodeJS.Timeout[] = []
  /** Take back that the site was counted as silent. */
  #takeBacks: (() => void)[] = []

  constructor(options: DialOptions, resolve: (result: HostConnection | ConnectFailure) => void) {
    const { host, sourceAddress, connectMs, limits } = options
    const reachable = host.addresses.filter((ip) => sourceAddress === undefined || isIPv6(ip) === isIPv6(sourceAddress))
    this.#options = options
    this.#silenceMs = Math.min(limits.raceMs * RACES, connectMs / 2)
    this.#resolve = resolve
    this.#addresses = [...new Set(reachable)].slice(0, MAX_ADDRESSES)
  }

  start() {
    const { signal } = this.#options
    if (signal?.aborted) return this.#giveUp()
    if (this.#addresses.length === 0)
      return this.#finish({ kind: 'not_connected', how: 'other_family', detail: 'no address we can reach' })
    signal?.addEventListener('abort', this.#giveUp)
    this.#tryNext()
  }

  readonly #giveUp = () => this.#finish({ kind: 'not_connected', how: 'left', detail: 'the caller left' })

  readonly #tryNext = () => {
    clearTimeout(this.#raceTimer)
    const ip = this.#addresses[this.#next++]
    if (ip === undefined) return
    const { host, site, reach, visit, sourceAddress, connectMs, untilMs, limits } = this.#options
    const dialledAtMs = performance.now()
    const socket = connect({ host: ip, port: host.port, localAddress: sourceAddress, noDelay: true })
    socket.on('connect', () => {
      reach.shownBy(serverAt(ip, this.#options), dialledAtMs)
      this.#finish({ kind: 'connected', socket, ip })
    })
    let isImmediate = true
    socket.on('connectionAttemptFailed', () => {
      isImmediate = false
    })
    socket.on('error', ({ code = '', message }: NodeJS.ErrnoException) => {
      this.#fail(ip, this.#howOf({ code, ip, isImmediate }), code || message)
    })
    const startedAtMs = unblocked.now()
    const alarm = new Alarm(() => this.#fail(ip, 'timeout', 'silent', unblocked.now() - startedAtMs))
    alarm.set(Math.min(performance.now() + connectMs, untilMs))
    this.#tries.set(ip, { socket, alarm })
    this.#raceTimer = setTimeout(() => {
      this.#takeBacks.push(reach.noteSilent(site, { ip, sourceAddress }))
      const anticipate = () => visit && reach.anticipate(serverAt(ip, this.#options), this.#startedAtMs, visit)
      this.#silenceTimers.push(setTimeout(anticipate, this.#silenceMs - limits.raceMs))
      this.#tryNext()
    }, limits.raceMs)
  }

  #fail(ip: string, how: ConnectFailure['how'], detail: string, silentMs?: number) {
    this.#tries.get(ip)?.alarm.stop()
    this.#tries.get(ip)?.socket.destroy()
    const isUnreached = how === 'timeout' ? (silentMs ?? 0) >= this.#silenceMs : how === 'closed'
    if (isUnreached) this.#takeBacks = []
    const isAnswered = ANSWERS.includes(detail)
    const failure = { kind: 'not_connected' as const, how, detail: `${detail} ${ip}`, ip, silentMs }
    this.#failures.push({ ...failure, isUnreached, isAnswered })
    if (this.#failures.length < this.#addresses.length) return this.#tryNext()
    void this.#judge()
  }

  /** Without any server that is reached meanwhile, nothing is known of this one. */
  async #judge(): Promise<void> {
    const { reach, visit } = this.#options
    const judged: ConnectFailure[] = []
    for (const { isUnreached, isAnswered, ...failure } of this.#failures) {
      const server = serverAt(failure.ip!, this.#options)
      const isCutOff = isUnreached && (await reach.isCutOff(server, this.#startedAtMs, visit, isAnswered))
      const how = isCutOff ? this.#withoutWay(failure.ip!) : failure.how
      judged.push({ ...failure, how, detail: `${failure.detail}${isCutOff ? ', while no server is reached' : ''}` })
    }
    this.#finish(DECIDING.flatMap((hows) => judged.filter(({ how }) => hows.includes(how)))[0]!)
  }

  #howOf({ code, ip, isImmediate }: DialError): ConnectFailure['how'] {
    if (!isImmediate) return endedBy(code)
    const how = this.#withoutWay(ip)
    // Linux returns EADDRNOTAVAIL for an IPv6 address while IPv6 is switched off.
    if (how === 'other_family' && code === 'EADDRNOTAVAIL') return how
    return SHORTAGES.has(code) ? 'local' : how
  }

  #withoutWay(ip: string): 'unreachable' | 'other_family' {
    const { reach, sourceAddress } = this.#options
    return sourceAddress !== undefined || reach.isNeeded({ ip }) ? 'unreachable' : 'other_family'
  }

  #finish(result: HostConnection | ConnectFailure): void {
    clearTimeout(this.#raceTimer)
    for (const timer of this.#silenceTimers) clearTimeout(timer)
    for (const takeBack of this.#takeBacks) takeBack()
    this.#options.signal?.removeEventListener('abort', this.#giveUp)
    for (const { socket, alarm } of this.#tries.values()) {
      alarm.stop()
      socket.removeAllListeners('connect').removeAllListeners('error')
      socket.on('error', () => {})
      if (result.kind !== 'connected' || socket !== result.socket) socket.destroy()
    }
    this.#resolve(result)
  }
}

interface DialError {
  code: string
  ip: string
  /** connect() returned the error itself: no packet was sent. */
  isImmediate: boolean
}
