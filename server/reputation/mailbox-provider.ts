import { getDomain } from 'tldts'

// A mailbox provider is known by its mail exchangers: the mail of a company's own domain is often at Google or
// Microsoft.

/** The providers with a name, by the registrable domain of their exchangers. */
const NAMES: Readonly<Record<string, string>> = {
  'google.com': 'google',
  'googlemail.com': 'google',
  'outlook.com': 'microsoft',
  'hotmail.com': 'microsoft',
  'mx.microsoft': 'microsoft',
  'yahoodns.net': 'yahoo',
  'icloud.com': 'apple',
  'mimecast.com': 'mimecast',
  'pphosted.com': 'proofpoint',
  'comcast.net': 'comcast',
  'orange.fr': 'orange',
  'gmx.net': 'gmx',
  'web.de': 'web.de',
  'protonmail.ch': 'proton',
  'zoho.com': 'zoho',
  'yandex.net': 'yandex',
  'yandex.ru': 'yandex',
}

const SITES = Map.groupBy(Object.keys(NAMES), (site) => NAMES[site]!)

/** The site of an exchanger: its registrable domain, or its whole name when it has none. */
function siteOf(mx: string): string {
  return mx.endsWith('.mx.microsoft') ? 'mx.microsoft' : (getDomain(mx, { validateHostname: false }) ?? mx)
}

/** The provider of the mailboxes behind a mail exchanger: its name, else its site. Empty without an exchanger. */
export function mailboxProvider(mx: string | undefined): string {
  if (!mx) return ''
  const site = siteOf(mx.toLowerCase())
  return Object.hasOwn(NAMES, site) ? NAMES[site]! : site
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
