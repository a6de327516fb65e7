import { createSocket } from 'node:dgram'
import { isIPv6 } from 'node:net'
import type { Fault } from './config.ts'

const NAME = 'SMTP_SOURCE_ADDRESSES'

/** Returns a fault when the machine lacks one of these addresses: sends from it would fail one by one. */
export async function sourceAddressFaults(addresses: readonly string[]): Promise<Fault[]> {
  const owned = await Promise.all(addresses.map(isOwn))
  const foreign = addresses.filter((_, i) => !owned[i])
  if (foreign.length === 0) return []
  const why = `names ${foreign.join(', ')}, which this machine does not have. Behind NAT set SMTP_PUBLIC_ADDRESSES instead`
  return [{ name: NAME, why, example: `${NAME}=192.0.2.25` }]
}

/** Whether a socket can have this address. The kernel decides in the same way at each connection. */
export function isOwn(address: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const socket = createSocket(isIPv6(address) ? 'udp6' : 'udp4')
    socket.on('error', (error: NodeJS.ErrnoException) => {
      socket.close()
      // EAFNOSUPPORT: the kernel has no IPv6.
      if (error.code === 'EADDRNOTAVAIL' || error.code === 'EAFNOSUPPORT') resolve(false)
      else reject(error)
    })
    socket.bind({ address, port: 0, exclusive: true }, () => socket.close(() => resolve(true)))
  })
}
