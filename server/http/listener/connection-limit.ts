import { BlockList, isIPv6, type Socket } from 'node:net'
import { createKeyedAmounts } from '../../../net/keyed-amounts.ts'
import { networkOf } from '../../../net/network.ts'

export interface ConnectionLimit {
  /** Open connections. */
  open: ReadonlySet<Socket>
  /** Counts a new connection until it closes, or closes it at once when too many are open. */
  admit(socket: Socket): void
}

export interface ConnectionLimitOptions {
  /** Open connections in all. */
  max: number
  /** Open connections from one IPv4 address or one /64 of IPv6. */
  maxPerAddress: number
  /** Addresses and ranges, in CIDR notation, of proxies: `maxPerAddress` does not apply to them. */
  proxies: readonly string[]
}

/** Limits connections, so that one caller cannot take all of them. */
export function createConnectionLimit({ max, maxPerAddress, proxies }: ConnectionLimitOptions): ConnectionLimit {
  const open = new Set<Socket>()
  const byNetwork = createKeyedAmounts()
  const trusted = blockList(proxies)

  function admit(socket: Socket): void {
    const { remoteAddress = '' } = socket
    const network = isTrusted(remoteAddress) ? undefined : networkOf(remoteAddress)
    const fromNetwork = network === undefined ? 0 : byNetwork.of(network)
    if (open.size >= max || fromNetwork >= maxPerAddress) return void socket.destroy()
    open.add(socket)
    if (network !== undefined) byNetwork.add(network, 1)
    socket.once('close', () => {
      open.delete(socket)
      if (network !== undefined) byNetwork.add(network, -1)
    })
  }

  const isTrusted = (address: string) => address !== '' && trusted.check(address, isIPv6(address) ? 'ipv6' : 'ipv4')

  return { open, admit }
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
