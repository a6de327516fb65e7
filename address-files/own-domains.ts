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
  const left = new Map(domains.map((domain) => [domain, 0]))
  const comparableDomain = (text: string) => {
    const domain = domainOf(text).toLowerCase()
    return /[^\x00-\x7f]/.test(domain) ? domainOf(formOf(text) ?? '') : domain
  }
  const lines = addresses.filter(({ email }) => {
    const own = comparableDomain(email)
    const count = left.get(own)
    if (count === undefined) return true
    left.set(own, count + 1)
    return false
  })
  return { lines, left: Object.fromEntries([...left].filter(([, count]) => count > 0)) }
}

const domainOf = (text: string) => text.slice(text.lastIndexOf('@') + 1).trim()
