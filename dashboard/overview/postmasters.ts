/** The pages on which providers take questions of those whose mail they refuse, by the name in statistics. */
const POSTMASTERS: Record<string, string> = {
  apple: 'https://support.apple.com/102322',
  google: 'https://support.google.com/mail/contact/gmail_bulk_sender_escalation',
  gmx: 'https://postmaster.gmx.net/en/contact',
  microsoft: 'https://olcsupport.office.com/',
  proofpoint: 'https://ipcheck.proofpoint.com/',
  'web.de': 'https://postmaster.web.de/en/contact',
  yahoo: 'https://senders.yahooinc.com/contact/',
}

/** The page where a provider can be asked; undefined when none is known. */
export const postmasterOf = (provider: string): string | undefined =>
  Object.hasOwn(POSTMASTERS, provider) ? POSTMASTERS[provider] : undefined
