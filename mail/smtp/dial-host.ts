import { connect, isIPv6, type Socket } from 'node:net'
import { createAlarm } from './alarm.ts'
import type { Host } from './attempt.ts'
import type { EngineLimits } from './engine-limits.ts'
import { watchUnblocked } from './stalls.ts'

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
export function dialHost({
  host,
  sourceAddress,
  untilMs,
  connectMs,
  limits,
  signal,
}: DialOptions): Promise<HostConnection | ConnectFailure> {
  const reachable = host.addresses.filter((ip) => sourceAddress === undefined || isIPv6(ip) === isIPv6(sourceAddress))
  const addresses = [...new Set(reachable)].slice(0, MAX_ADDRESSES)
  return new Promise((resolve) => {
    const tries = new Map<string, { socket: Socket; alarm: ReturnType<typeof createAlarm> }>()
    const failures: ConnectFailure[] = []
    let next = 0
    let raceTimer: NodeJS.Timeout | undefined
    const giveUp = () => finish({ kind: 'not_connected', how: 'left', detail: 'the caller left' })
    if (signal?.aborted) return giveUp()
    if (addresses.length === 0)
      return finish({ kind: 'not_connected', how: 'closed', detail: 'no address we can reach' })
    signal?.addEventListener('abort', giveUp)
    tryNext()

    function tryNext(): void {
      clearTimeout(raceTimer)
      const ip = addresses[next++]
      if (ip === undefined) return
      const socket = connect({ host: ip, port: host.port, localAddress: sourceAddress, noDelay: true })
      socket.on('connect', () => finish({ kind: 'connected', socket, ip }))
      socket.on('error', (error: NodeJS.ErrnoException) => fail(ip, howOf(error, ip), error.code ?? error.message))
      const silentMs = watchUnblocked()
      const alarm = createAlarm(() => fail(ip, 'timeout', 'silent', silentMs()))
      alarm.set(Math.min(performance.now() + connectMs, untilMs))
      tries.set(ip, { socket, alarm })
      raceTimer = setTimeout(tryNext, limits.raceMs)
    }

    function fail(ip: string, how: ConnectFailure['how'], detail: string, silentMs?: number): void {
      tries.get(ip)?.alarm.stop()
      tries.get(ip)?.socket.destroy()
      failures.push({ kind: 'not_connected', how, detail: `${detail} ${ip}`, ip, silentMs })
      if (failures.length === addresses.length) finish(decisive())
      else tryNext()
    }

    /** A fault of ours comes first: if it kept one address from being tried, nothing is proved about the host. */
    function decisive(): ConnectFailure {
      return failures.find(({ how }) => how === 'local') ?? failures[0]!
    }

    function howOf(error: NodeJS.ErrnoException, ip: string): ConnectFailure['how'] {
      // Linux says "unreachable" in this way where IPv6 is switched off.
      if (error.code === 'EADDRNOTAVAIL' && isIPv6(ip) && sourceAddress === undefined) return 'closed'
      return LOCAL_FAULTS.has(error.code ?? '') ? 'local' : 'closed'
    }

    function finish(result: HostConnection | ConnectFailure): void {
      clearTimeout(raceTimer)
      signal?.removeEventListener('abort', giveUp)
      for (const { socket, alarm } of tries.values()) {
        alarm.stop()
        socket.removeAllListeners('connect').removeAllListeners('error')
        socket.on('error', () => {})
        if (result.kind !== 'connected' || socket !== result.socket) socket.destroy()
      }
      resolve(result)
    }
  })
}
