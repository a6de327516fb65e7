import ipaddr from 'ipaddr.js'

/** An IPv4 address, or the /64 of an IPv6 one, of which one subscriber may use any number of addresses. */
export function networkOf(remoteAddress: string): string {
  if (!ipaddr.isValid(remoteAddress)) return ''
  const address = ipaddr.process(remoteAddress)
  return Buffer.from(address.toByteArray().slice(0, 8)).toString('hex')
}
