import { getDomain } from 'tldts'

// A mailbox provider is known by its mail exchangers: the mail of a company's own domain is often at Google or
// Microsoft.

/** The providers with a name, and the registrable domains of their exchangers. */
const SITES: ReadonlyMap<string, string[]> = new Map([
  ['google', ['google.com', 'googlemail.com']],
  ['microsoft', ['outlook.com', 'hotmail.com', 'mx.microsoft']],
  ['yahoo', ['yahoodns.net']],
  ['apple', ['icloud.com']],
  ['mimecast', ['mimecast.com']],
  ['proofpoint', ['pphosted.com']],
  ['comcast', ['comcast.net']],
  ['orange', ['orange.fr']],
  ['gmx', ['gmx.net']],
  ['web.de', ['web.de']],
  ['proton', ['protonmail.ch']],
  ['zoho', ['zoho.com']],
  ['yandex', ['yandex.net', 'yandex.ru']],
])
const NAMES = new Map(Array.from(SITES, ([name, sites]) => sites.map((site) => [site, name] as const)).flat())

/** The site of an exchanger: its registrable domain, or its whole name when it has none. */
function siteOf(mx: string): string {
  return mx.endsWith('.mx.microsoft') ? 'mx.microsoft' : (getDomain(mx, { validateHostname: false }) ?? mx)
}

/** The provider of the mailboxes behind a mail exchanger: its name, else its site. Empty without an exchanger. */
export function mailboxProvider(mx: string | undefined): string {
  if (!mx) return ''
  const site = siteOf(mx.toLowerCase())
  return NAMES.get(site) ?? site
}

/**
 * The sites of a provider's exchangers, all of which end in one of them. `provider` is a name or the host name of an
 * exchanger.
 */
export function sitesOfProvider(provider: string): string[] {
  const name = provider.toLowerCase()
  const known = SITES.has(name) ? name : mailboxProvider(name)
  return SITES.get(known) ?? [known]
}

/** Whether a text is the name of a provider. */
export const isProviderName = (text: string): boolean => SITES.has(text.toLowerCase())
