import { domainToASCII } from 'node:url'
import { readReturnPath } from '../domains/return-path.ts'

/** Whose mail it is: that of a message's return path, or without one that of the address for complaints. */
export interface Addressee {
  messageId?: string
}

/** Where mailbox providers send complaints when they ask for one address: at any host that return paths are at. */
const COMPLAINTS = 'fbl'

/**
 * The addresses that mail is taken for. The token of a return path is proof enough: it is looked at whatever the host, so that bounces
 * find their way while an operator moves to another one.
 */
export function addresseesOf({
  returnPathKeys,
  returnPathHost,
}: {
  returnPathKeys: readonly Uint8Array[]
  returnPathHost: string | undefined
}): (address: string) => Addressee | undefined {
  return (address) => {
    const at = address.lastIndexOf('@')
    const [local, host] = [address.slice(0, at), domainToASCII(address.slice(at + 1))]
    const messageId = readReturnPath(returnPathKeys, local)
    if (messageId !== undefined) return { messageId }
    const isOurs = host === returnPathHost || host.startsWith('rp.')
    return isOurs && local.toLowerCase() === COMPLAINTS ? {} : undefined
  }
}
