import type { Recipient } from '../../server/sending/recipients.ts'

/** A recipient of `to`. The text need not be an address. */
export function recipient(email: string): Recipient {
  const at = email.lastIndexOf('@')
  return { address: { address: email, local: email.slice(0, at), domain: email.slice(at + 1) }, kind: 'to' }
}
