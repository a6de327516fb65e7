const ASCII = /^[\x00-\x7f]*$/
/** A host without characters that a URL drops, or gives another meaning. */
const HOST = /^(?:[A-Za-z0-9.-]|[^\x00-\x7f\p{C}\p{Z}\p{Default_Ignorable_Code_Point}])+$/u

/** An address as the service compares it: ASCII letters in lower case, and the domain in its ASCII form. */
export function comparable(address: string): string {
  const at = address.lastIndexOf('@') + 1
  return (address.slice(0, at).normalize('NFC') + asciiForm(address.slice(at))).replaceAll(/[A-Z]/g, lower)
}

/** Whether an address is the one that a list is filtered by, begins as the filter does, or is of its domain. */
export function isSought(email: string, filter: string): boolean {
  const address = comparable(email)
  if (filter.startsWith('@')) return address.endsWith(comparable(filter))
  if (filter.includes('@')) return address === comparable(filter)
  return address.startsWith(comparable(`${filter}@`).slice(0, -1))
}

function asciiForm(domain: string): string {
  if (ASCII.test(domain) || !HOST.test(domain)) return domain
  return URL.parse(`http://${domain}`)?.hostname ?? domain
}

const lower = (letter: string) => letter.toLowerCase()
