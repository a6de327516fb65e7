import type { AddressLine } from './address-list.ts'

/**
 * Takes the addresses of the account's own domains out of a list: they are senders, and no mail to them would arrive
 * any more. Their subdomains stay. `formOf` is the form that all spellings of an address share.
 */
export function leaveOut(
  addresses: readonly AddressLine[],
  domains: readonly string[],
  formOf: (text: string) => string | undefined,
): { lines: AddressLine[]; left: Record<string, number> } {
  const left: Record<string, number> = Object.fromEntries(domains.map((domain) => [domain, 0]))
  const comparableDomain = (text: string) => {
    const domain = domainOf(text).toLowerCase()
    return /[^\x00-\x7f]/.test(domain) ? domainOf(formOf(text) ?? '') : domain
  }
  const lines = addresses.filter(({ email }) => {
    const own = comparableDomain(email)
    if (!Object.hasOwn(left, own)) return true
    left[own]!++
    return false
  })
  return { lines, left: Object.fromEntries(Object.entries(left).filter(([, count]) => count > 0)) }
}

const domainOf = (text: string) => text.slice(text.lastIndexOf('@') + 1).trim()
