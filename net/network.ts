import ipaddr from 'ipaddr.js'

/** An IPv4 address, or the /64 of an IPv6 one, of which one subscriber may use any number of addresses. */
export function networkOf(remoteAddress: string): string {
  if (!ipaddr.isValid(remoteAddress)) return ''
  return prefixOf(bytesOf(remoteAddress), 8)
}

/** An IPv4 address, or the /48, the /56 and the /64 of an IPv6 one: a provider may give a subscriber each of them. */
export function networksOf(remoteAddress: string): [string, ...string[]] {
  const bytes = ipaddr.isValid(remoteAddress) ? bytesOf(remoteAddress) : []
  if (bytes.length < 16) return [prefixOf(bytes, 4)]
  return [prefixOf(bytes, 6), prefixOf(bytes, 7), prefixOf(bytes, 8)]
}

/** The /24 of an IPv4 address, the /48 of an IPv6 one: what one party may hold at little cost. */
export function widerNetworkOf(remoteAddress: string): string {
  if (!ipaddr.isValid(remoteAddress)) return ''
  const bytes = bytesOf(remoteAddress)
  return prefixOf(bytes, bytes.length === 4 ? 3 : 6)
}

const bytesOf = (address: string) => ipaddr.process(address).toByteArray()

const prefixOf = (bytes: number[], length: number) => Buffer.from(bytes.slice(0, length)).toString('hex')
