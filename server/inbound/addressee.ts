import { domainToASCII } from 'node:url'
import { type ReturnPath, readReturnPath } from '../domains/return-path.ts'

/** The addressee of a mail: a return path of ours, or, without one, the address for complaints. */
export interface Addressee {
  returnPath?: ReturnPath
  /** The address with that return path, as a reply in the report may name it. */
  address?: string
}

/**
 * The local part for complaints, for mailbox providers that ask for one address. It works at any host of return paths.
 */
const COMPLAINTS = 'fbl'

/**
 * Recognises the addresses that mail is accepted for. The token of a return path is proof enough at any host, so that
 * bounces arrive while the operator moves to another host.
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
    const returnPath = readReturnPath(returnPathKeys, local)
    if (returnPath) return { returnPath, address }
    const isOurs = host === returnPathHost || host.startsWith('rp.')
    return isOurs && local.toLowerCase() === COMPLAINTS ? {} : undefined
  }
}
