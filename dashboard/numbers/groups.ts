// The groups of statistics, as the API names them.

/** The group of every value that has no group of its own. */
export const OTHER_GROUP = 'other'

/** What people call the providers, where it is not the name in the API. */
const PROVIDERS: Record<string, string> = {
  apple: 'Apple (iCloud)',
  gmx: 'GMX',
  google: 'Google (Gmail)',
  microsoft: 'Microsoft (Outlook)',
}

/** `Yahoo` for `yahoo`. The site of a provider without a name is written as it is. */
export const providerName = (key: string): string =>
  PROVIDERS[key] ?? (key.includes('.') ? key : key.charAt(0).toUpperCase() + key.slice(1))
