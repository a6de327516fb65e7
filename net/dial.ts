import { connect, isIP, isIPv6, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import type { IsFact, Lookup } from './lookup.ts'
import { endedBy, isClockWrong, isDateFlaw } from './own-errors.ts'
import { type Open, openTunnel } from './tunnel.ts'
import type { Destination } from './url.ts'

/** The milliseconds of each phase; absent for a phase that did not happen. */
export interface Phases {
  dns?: number
  connect?: number
  tls?: number
  head?: number
  body?: number
}

export interface DialledSocket {
  kind: 'dialled'
  /** The first of the addresses that were dialled. */
  ip: string
  socket: Socket
  phases: Phases
}

/**
 * Names the step that failed, or in which the time ended. `local`: a fault of this service or its network, which proves
 * nothing about the other side.
 */
export interface DialFailure {
  kind: 'dns' | 'blocked' | 'connect' | 'tls' | 'local'
  /** As in `DialledSocket`; absent where none was dialled. */
  ip?: string
  phases: Phases
  /** The code of Node's error, such as `ECONNREFUSED`. Absent when the time ended, and for errors of the proxy. */
  code?: string
}

/** Is called with the code of an error. */
export type OnFault = (code: string | undefined) => void

export interface DialOptions {
  lookup: Lookup
  /** Whether a failure at the addresses of a name is one of the name. Without it each one is. */
  isFact?: IsFact
  /** How far our clock is from that of the database. */
  clockErrorMs?(): number
  /**
   * URL of an HTTP proxy: connections are tunnels (CONNECT) through it to the vetted address. Nothing is read from the
   * environment.
   */
  proxy?: string
  /** PEM. Replaces the authorities that Node trusts (its own and those of NODE_EXTRA_CA_CERTS). */
  ca?: string
}

export type Dial = (destination: Destination, signal: AbortSignal) => Promise<DialledSocket | DialFailure>

/** Look-up -> guard on every address -> TCP to those addresses and no others -> TLS. */
export function createDial(options: DialOptions): Dial {
  const { isFact, clockErrorMs = () => 0 } = options
  const dial = createDialOnce(options)

  return async (destination, signal) => {
    const askedMs = performance.now()
    const dialled = await dial(destination, signal)
    if (dialled.kind === 'dialled' || dialled.kind === 'local') return dialled
    const isByClock = isDateFlaw(dialled.code ?? '') && isClockWrong(clockErrorMs())
    // A captive portal leads every name to itself, or nowhere.
    const isTheirs = destination.addresses !== undefined || ((await isFact?.(destination.host, askedMs)) ?? true)
    return isByClock || !isTheirs ? { ...dialled, kind: 'local' } : dialled
  }
}

function createDialOnce({ lookup, proxy, ca }: DialOptions): Dial {
  const open = proxy === undefined ? openTcp : openTunnel(new URL(proxy))

  return async (destination, signal) => {
    const phases: Phases = {}
    const lap = stopwatch()
    const literal = destination.addresses
    const addresses = literal ?? (await unlessAborted(lookup(destination.host), signal))
    if (literal === undefined) phases.dns = lap()
    if (addresses === undefined) return { kind: 'local', phases }
    if (addresses.length === 0) return { kind: 'dns', phases }
    if (!addresses.every(destination.mayDial)) return { kind: 'blocked', phases }
    let code: string | undefined
    const noteCode: OnFault = (of) => {
      code ??= of
    }
    const plain = await open(addresses, destination.port, signal, noteCode)
    phases.connect = lap()
    const ip = addresses[0]!
    if (plain === 'local') return { kind: 'local', ip, phases, code }
    if (plain === undefined) return { kind: 'connect', ip, phases, code }
    if (destination.protocol === 'http:') return { kind: 'dialled', ip, socket: plain, phases }
    const secure = await startTls(plain, destination.host, signal, ca, noteCode)
    phases.tls = lap()
    return secure === undefined ? { kind: 'tls', ip, phases, code } : { kind: 'dialled', ip, socket: secure, phases }
  }
}

/**
 * Tries the addresses one after the other (RFC 8305), and returns the socket of the first that accepts. An address that
 * connect() itself refuses was not tried: no packet has left.
 */
const openTcp: Open = async (addresses, port, signal, onFault) => {
  const found = addresses.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }))
  const socket = connect({
    // A placeholder: Node connects to the addresses of the look-up.
    host: 'vetted.invalid',
    lookup: (_name, _options, done) => done(null, found),
    autoSelectFamily: true,
    port,
    noDelay: true,
  })
  let isTried = false
  socket.on('connectionAttemptTimeout', () => {
    isTried = true
  })
  socket.on('connectionAttemptFailed', (_ip, _port, _family, { code = '' }: NodeJS.ErrnoException) => {
    isTried ||= endedBy(code) === 'closed'
  })
  const opened = await ready(socket, 'connect', signal, onFault)
  // Many machines have no IPv6, and an endpoint that has nothing else would never be attempted.
  const mayLack = addresses.every((address) => isIPv6(address))
  return opened ?? (isTried || mayLack || signal.aborted ? undefined : 'local')
}

function startTls(
  socket: Socket,
  host: string,
  signal: AbortSignal,
  ca: string | undefined,
  onFault: OnFault,
): Promise<Socket | undefined> {
  // The certificate must name the host. SNI carries a name only, never an address (RFC 6066 3).
  const servername = isIP(host) === 0 ? host : undefined
  const secure = connectTls({ socket, host, servername, ca, ALPNProtocols: ['http/1.1'] })
  return ready(secure, 'secureConnect', signal, onFault)
}

/** The socket, once it emits the event. After an error or an abort, destroys the socket and returns undefined. */
export function ready(
  socket: Socket,
  event: string,
  signal: AbortSignal,
  onFault?: OnFault,
): Promise<Socket | undefined> {
  return new Promise((resolve) => {
    if (onFault) socket.once('error', ({ code }: NodeJS.ErrnoException) => onFault(code))
    const fail = () => {
      signal.removeEventListener('abort', fail)
      socket.destroy()
      resolve(undefined)
    }
    // This handler stays: later errors concern the reader of the socket, and must not end the process before one is
    // attached.
    socket.on('error', fail)
    socket.once('close', fail)
    socket.once(event, () => {
      signal.removeEventListener('abort', fail)
      socket.off('close', fail)
      resolve(socket)
    })
    signal.addEventListener('abort', fail)
    if (signal.aborted) fail()
  })
}

function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const giveUp = () => resolve(undefined)
    signal.addEventListener('abort', giveUp)
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', giveUp))
    if (signal.aborted) giveUp()
  })
}

/** A function that returns the milliseconds since its previous call. */
function stopwatch(): () => number {
  let lastMs = performance.now()
  return () => {
    const elapsedMs = performance.now() - lastMs
    lastMs += elapsedMs
    return elapsedMs
  }
}
