import { BlockList, isIPv6, type Socket } from 'node:net'
import { createFairDoor } from '../../../net/fair-doors.ts'
import { createKeyedAmounts } from '../../../net/keyed-amounts.ts'
import { networkOf } from '../../../net/network.ts'

export interface ConnectionLimit {
  /** Open connections. */
  open: ReadonlySet<Socket>
  /**
   * Counts a new connection until it closes. When too many are open, the one of the strangers that has been silent
   * longest makes room. Where all await responses, or the address has too many, the new one is closed at once.
   */
  admit(socket: Socket): void
  /** Notes a request, and calls back for the response that its connection awaits. */
  note(socket: Socket, request: AwaitedRequest): void
}

export interface ConnectionLimitOptions {
  /** Open connections in all. */
  max: number
  /** Open connections from one IPv4 address or one /64 of IPv6. */
  maxPerAddress: number
  /** Addresses and ranges, in CIDR notation, of proxies: `maxPerAddress` does not apply to them. */
  proxies: readonly string[]
}

/** A request keeps the place of its connection from its last byte until its response has ended. */
export interface AwaitedRequest {
  isComplete(): boolean
  onEnd(listener: () => void): void
}

/** Limits connections, so that one caller cannot take all of them. */
export function createConnectionLimit({ max, maxPerAddress, proxies }: ConnectionLimitOptions): ConnectionLimit {
  const open = new Set<Socket>()
  const awaited = new Map<string, Set<AwaitedRequest>>()
  const byNetwork = createKeyedAmounts()
  const trusted = blockList(proxies)
  const door = createFairDoor({ places: () => max })

  function admit(socket: Socket): void {
    const { remoteAddress = '' } = socket
    const network = isTrusted(remoteAddress) ? undefined : networkOf(remoteAddress)
    const fromNetwork = network === undefined ? 0 : byNetwork.of(network)
    if (fromNetwork >= maxPerAddress) return void socket.destroy()
    const id = idOf(socket)
    const requests = new Set<AwaitedRequest>()
    const isBusy = () => [...requests].some((request) => request.isComplete())
    if (!door.enter(id, { remoteAddress, sendAway: () => socket.destroy(), isBusy })) return void socket.destroy()
    open.add(socket)
    awaited.set(id, requests)
    if (network !== undefined) byNetwork.add(network, 1)
    socket.once('close', () => {
      open.delete(socket)
      awaited.delete(id)
      door.leave(id)
      if (network !== undefined) byNetwork.add(network, -1)
    })
  }

  function note(socket: Socket, request: AwaitedRequest): void {
    const id = idOf(socket)
    const requests = awaited.get(id)
    if (!requests) return
    door.note(id)
    requests.add(request)
    request.onEnd(() => requests.delete(request))
  }

  const isTrusted = (address: string) => address !== '' && trusted.check(address, isIPv6(address) ? 'ipv6' : 'ipv4')

  return { open, admit, note }
}

/** The same for the socket of TLS and the one below it. */
const idOf = ({ remoteAddress, remotePort }: Socket) => `${remoteAddress} ${remotePort}`

function blockList(ranges: readonly string[]): BlockList {
  const list = new BlockList()
  for (const range of ranges) {
    const [address = '', bits] = range.split('/')
    const family = isIPv6(address) ? 'ipv6' : 'ipv4'
    if (bits === undefined) list.addAddress(address, family)
    else list.addSubnet(address, Number(bits), family)
  }
  return list
}
