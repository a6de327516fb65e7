import { BlockList, isIPv6, type Socket } from 'node:net'
import { networkOf } from '../egress/network.ts'
import { createTally } from '../tally.ts'

export interface Door {
  /** Open connections. */
  inside: ReadonlySet<Socket>
  /** Counts a new connection until it closes, or closes it at once when too many are open. */
  enter(socket: Socket): void
}

export interface DoorOptions {
  /** Connections at the same time. */
  most: number
  /** Connections from one IPv4 address or one /64 of IPv6. */
  mostOfOne: number
  /** Addresses and ranges, in CIDR notation, of proxies: the second bound does not hold for them. */
  proxies: readonly string[]
}

/** Bounds connections, so that one caller cannot take all of them. */
export function createDoor({ most, mostOfOne, proxies }: DoorOptions): Door {
  const inside = new Set<Socket>()
  const byNetwork = createTally()
  const trusted = blockList(proxies)

  function enter(socket: Socket): void {
    const { remoteAddress = '' } = socket
    const network = isTrusted(remoteAddress) ? undefined : networkOf(remoteAddress)
    const theirs = network === undefined ? 0 : byNetwork.of(network)
    if (inside.size >= most || theirs >= mostOfOne) return void socket.destroy()
    inside.add(socket)
    if (network !== undefined) byNetwork.add(network, 1)
    socket.once('close', () => {
      inside.delete(socket)
      if (network !== undefined) byNetwork.add(network, -1)
    })
  }

  const isTrusted = (address: string) => address !== '' && trusted.check(address, isIPv6(address) ? 'ipv6' : 'ipv4')

  return { inside, enter }
}

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
