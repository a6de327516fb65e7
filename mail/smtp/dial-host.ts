import { connect, isIPv6, type Socket } from 'node:net'
import { Alarm, unblocked } from './alarm.ts'
import type { Host } from './attempt.ts'
import type { EngineLimits } from './engine-limits.ts'

export interface HostConnection {
  kind: 'connected'
  socket: Socket
  ip: string
}

export interface ConnectFailure {
  kind: 'not_connected'
  how: 'closed' | 'timeout' | 'left' | 'local'
  detail: string
  ip?: string
  /** As in `BrokenWire`. */
  silentMs?: number
}

/** Errors that prove a fault of this machine and nothing about the other one. */
const LOCAL_FAULTS = new Set([
  'EMFILE',
  'ENFILE',
  'ENOBUFS',
  'ENOMEM',
  'EADDRINUSE',
  'EADDRNOTAVAIL',
  'EACCES',
  'EPERM',
])
/** The most addresses that are tried. */
const MAX_ADDRESSES = 8

interface DialOptions {
  host: Host
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
  readonly #failures: ConnectFailure[] = []
  #next = 0
  #raceTimer: NodeJS.Timeout | undefined

  constructor(options: DialOptions, resolve: (result: HostConnection | ConnectFailure) => void) {
    const { host, sourceAddress } = options
    const reachable = host.addresses.filter((ip) => sourceAddress === undefined || isIPv6(ip) === isIPv6(sourceAddress))
    this.#options = options
    this.#resolve = resolve
    this.#addresses = [...new Set(reachable)].slice(0, MAX_ADDRESSES)
  }

  start() {
    const { signal } = this.#options
    if (signal?.aborted) return this.#giveUp()
    if (this.#addresses.length === 0)
      return this.#finish({ kind: 'not_connected', how: 'closed', detail: 'no address we can reach' })
    signal?.addEventListener('abort', this.#giveUp)
    this.#tryNext()
  }

  readonly #giveUp = () => this.#finish({ kind: 'not_connected', how: 'left', detail: 'the caller left' })

  readonly #tryNext = () => {
    clearTimeout(this.#raceTimer)
    const ip = this.#addresses[this.#next++]
    if (ip === undefined) return
    const { host, sourceAddress, connectMs, untilMs, limits } = this.#options
    const socket = connect({ host: ip, port: host.port, localAddress: sourceAddress, noDelay: true })
    socket.on('connect', () => this.#finish({ kind: 'connected', socket, ip }))
    socket.on('error', (error: NodeJS.ErrnoException) => {
      this.#fail(ip, howOf(error, ip, sourceAddress), error.code ?? error.message)
    })
    const startedAtMs = unblocked.now()
    const alarm = new Alarm(() => this.#fail(ip, 'timeout', 'silent', unblocked.now() - startedAtMs))
    alarm.set(Math.min(performance.now() + connectMs, untilMs))
    this.#tries.set(ip, { socket, alarm })
    this.#raceTimer = setTimeout(this.#tryNext, limits.raceMs)
  }

  #fail(ip: string, how: ConnectFailure['how'], detail: string, silentMs?: number) {
    this.#tries.get(ip)?.alarm.stop()
    this.#tries.get(ip)?.socket.destroy()
    const failure: ConnectFailure = { kind: 'not_connected', how, detail: `${detail} ${ip}`, ip, silentMs }
    this.#failures.push(failure)
    if (this.#failures.length < this.#addresses.length) return this.#tryNext()
    // A fault of ours comes first: if it kept one address from being tried, nothing is proved about the host.
    const [first = failure] = this.#failures
    this.#finish(this.#failures.find((each) => each.how === 'local') ?? first)
  }

  #finish(result: HostConnection | ConnectFailure): void {
    clearTimeout(this.#raceTimer)
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

function howOf(error: NodeJS.ErrnoException, ip: string, sourceAddress?: string): ConnectFailure['how'] {
  // Linux says "unreachable" in this way where IPv6 is switched off.
  if (error.code === 'EADDRNOTAVAIL' && isIPv6(ip) && sourceAddress === undefined) return 'closed'
  return LOCAL_FAULTS.has(error.code ?? '') ? 'local' : 'closed'
}
