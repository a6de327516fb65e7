import { connect, isIPv6, type Socket } from 'node:net'
import type { Host } from './attempt.ts'
import type { Limits } from './limits.ts'

export interface Dialled {
  kind: 'dialled'
  socket: Socket
  ip: string
}

export interface NotDialled {
  kind: 'not_dialled'
  how: 'closed' | 'timeout' | 'left' | 'local'
  detail: string
  ip?: string
}

/** Errors that say something of this machine and nothing of the other one. */
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
const ADDRESSES = 2

interface DialOptions {
  host: Host
  sourceAddress?: string
  untilMs: number
  limits: Limits
  signal?: AbortSignal
}

/**
 * A TCP connection to the first of at most two addresses that answers; the second is tried too as soon as the first has
 * failed or has been silent for `raceMs` (as in RFC 8305), so a dead address family costs no time.
 */
export function dial({ host, sourceAddress, untilMs, limits, signal }: DialOptions): Promise<Dialled | NotDialled> {
  const reachable = host.addresses.filter((ip) => sourceAddress === undefined || isIPv6(ip) === isIPv6(sourceAddress))
  const addresses = [...new Set(reachable)].slice(0, ADDRESSES)
  return new Promise((resolve) => {
    const sockets = new Map<string, Socket>()
    const failures: NotDialled[] = []
    let next = 0
    let head: NodeJS.Timeout | undefined
    const left = () => finish({ kind: 'not_dialled', how: 'left', detail: 'the caller left' })
    if (signal?.aborted) return left()
    if (addresses.length === 0) return finish({ kind: 'not_dialled', how: 'closed', detail: 'no address we can reach' })
    signal?.addEventListener('abort', left)
    tryNext()

    function tryNext(): void {
      clearTimeout(head)
      const ip = addresses[next++]
      if (ip === undefined) return
      const socket = connect({ host: ip, port: host.port, localAddress: sourceAddress, noDelay: true })
      sockets.set(ip, socket)
      socket.setTimeout(Math.max(1, Math.min(limits.connectMs, untilMs - performance.now())))
      socket.on('connect', () => finish({ kind: 'dialled', socket, ip }))
      socket.on('timeout', () => failed(ip, 'timeout', 'silent'))
      socket.on('error', (error: NodeJS.ErrnoException) => failed(ip, howOf(error, ip), error.code ?? error.message))
      head = setTimeout(tryNext, limits.raceMs)
    }

    function failed(ip: string, how: NotDialled['how'], detail: string): void {
      sockets.get(ip)?.destroy()
      sockets.delete(ip)
      failures.push({ kind: 'not_dialled', how, detail: `${detail} ${ip}`, ip })
      if (failures.length === addresses.length) finish(worst())
      else tryNext()
    }

    /** If one address could not be tried because of us, nothing is proved about the host. */
    function worst(): NotDialled {
      return failures.find(({ how }) => how === 'local') ?? failures[0]!
    }

    function howOf(error: NodeJS.ErrnoException, ip: string): NotDialled['how'] {
      // Where IPv6 is switched off, this is how Linux says "unreachable".
      if (error.code === 'EADDRNOTAVAIL' && isIPv6(ip) && sourceAddress === undefined) return 'closed'
      return LOCAL_FAULTS.has(error.code ?? '') ? 'local' : 'closed'
    }

    function finish(result: Dialled | NotDialled): void {
      clearTimeout(head)
      signal?.removeEventListener('abort', left)
      for (const socket of sockets.values()) {
        socket.removeAllListeners('connect').removeAllListeners('timeout').removeAllListeners('error')
        socket.on('error', () => {})
        if (result.kind === 'dialled' && socket === result.socket) socket.setTimeout(0)
        else socket.destroy()
      }
      resolve(result)
    }
  })
}
