import ipaddr from 'ipaddr.js'

/** An IPv4 address, or the /64 of an IPv6 one: one subscriber has as many addresses as he likes of it. */
export function networkOf(remoteAddress: string): string {
  if (!ipaddr.isValid(remoteAddress)) return ''
  const address = ipaddr.process(remoteAddress)
  return Buffer.from(address.toByteArray().slice(0, 8)).toString('hex')
}
