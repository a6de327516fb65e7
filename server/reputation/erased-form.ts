import { createHmac } from 'node:crypto'

/** What every erased form ends with. No mail can be sent there (RFC 6761). */
export const ERASED_DOMAIN = 'erased.invalid'

export type ErasedFormOf = (matchingForm: string) => string

/**
 * Returns what replaces an address: 128 bits of its HMAC-SHA-256, as an address. The same address always gets the same
 * form, and only the holder of the key can try out which address it was.
 */
export function createErasedForm(key: Uint8Array): ErasedFormOf {
  return (matchingForm) => {
    const hash = createHmac('sha256', key).update(matchingForm).digest('hex').slice(0, 32)
    return `erased-${hash}@${ERASED_DOMAIN}`
  }
}
