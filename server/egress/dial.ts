import { connect, isIP, isIPv6, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import type { Lookup } from './lookup.ts'
import { openTunnel } from './tunnel.ts'
import type { Destination } from './url.ts'

/** Milliseconds; what did not happen has none. */
export interface Phases {
  dns?: number
  connect?: number
  tls?: number
  head?: number
  body?: number
}

export interface Dialled {
  kind: 'dialled'
  socket: Socket
  phases: Phases
}

/** Named for the step that failed; also when the time ended in it. */
export interface NotDialled {
  kind: 'dns' | 'blocked' | 'connect' | 'tls'
  phases: Phases
}

interface DialOptions {
  lookup: Lookup
  /** An HTTP proxy: connections are tunnels (CONNECT) to the very address that was vetted. */
  proxy?: string
  /** Instead of the authorities that Node trusts. */
  ca?: string
}

export type Dial = (destination: Destination, signal: AbortSignal) => Promise<Dialled | NotDialled>

/** look up -> every address vetted -> TCP to those addresses and no other -> TLS. */
export function createDial({ lookup, proxy, ca }: DialOptions): Dial {
  const open = proxy === undefined ? openTcp : openTunnel(new URL(proxy))

  return async (destination, signal) => {
    const phases: Phases = {}
    const lap = stopwatch()
    const known = destination.addresses
    const addresses = known ?? (await unlessAborted(lookup(destination.host), signal)) ?? []
    if (known === undefined) phases.dns = lap()
    if (addresses.length === 0) return { kind: 'dns', phases }
    if (!addresses.every(destination.mayDial)) return { kind: 'blocked', phases }
    const plain = await open(addresses, destination.port, signal)
    phases.connect = lap()
    if (plain === undefined) return { kind: 'connect', phases }
    if (destination.protocol === 'http:') return { kind: 'dialled', socket: plain, phases }
    const secure = await secured(plain, destination.host, signal, ca)
    phases.tls = lap()
    return secure === undefined ? { kind: 'tls', phases } : { kind: 'dialled', socket: secure, phases }
  }
}

/** To the first of the addresses that answers, tried one after the other (RFC 8305). */
function openTcp(addresses: readonly string[], port: number, signal: AbortSignal): Promise<Socket | undefined> {
  const answers = addresses.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }))
  const socket = connect({
    // A name only for the look of it: Node connects to what the look-up answers.
    host: 'vetted.invalid',
    lookup: (_name, _options, answer) => answer(null, answers),
    autoSelectFamily: true,
    port,
    noDelay: true,
  })
  return ready(socket, 'connect', signal)
}

function secured(socket: Socket, host: string, signal: AbortSignal, ca?: string): Promise<Socket | undefined> {
  // The certificate has to name the host; a server is told a name only, never an address (RFC 6066 3).
  const servername = isIP(host) === 0 ? host : undefined
  return ready(connectTls({ socket, host, servername, ca, ALPNProtocols: ['http/1.1'] }), 'secureConnect', signal)
}

/** The socket when the event comes first; undefined after an error or an abort, and the socket is destroyed. */
export function ready(socket: Socket, event: string, signal: AbortSignal): Promise<Socket | undefined> {
  return new Promise((resolve) => {
    const fail = () => {
      signal.removeEventListener('abort', fail)
      socket.destroy()
      resolve(undefined)
    }
    // Kept: later errors are the business of whoever reads the socket, and must not end the process before somebody does.
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
    const give = () => resolve(undefined)
    signal.addEventListener('abort', give)
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', give))
    if (signal.aborted) give()
  })
}

/** Milliseconds since it was last asked. */
function stopwatch(): () => number {
  let lastMs = performance.now()
  return () => {
    const elapsedMs = performance.now() - lastMs
    lastMs += elapsedMs
    return elapsedMs
  }
}
