// The first name that occurs in a browser's name for itself is its own: Edge also calls itself Chrome, and that Safari.
const BROWSERS: [sign: string, name: string][] = [
  ['Edg/', 'Edge'],
  ['OPR/', 'Opera'],
  ['Firefox/', 'Firefox'],
  ['Chrome/', 'Chrome'],
  ['Safari/', 'Safari'],
]

const SYSTEMS: [sign: string, name: string][] = [
  ['Android', 'Android'],
  ['iPhone', 'iPhone'],
  ['iPad', 'iPad'],
  ['Windows', 'Windows'],
  ['Mac OS X', 'macOS'],
  ['CrOS', 'ChromeOS'],
  ['Linux', 'Linux'],
]

const find = (names: typeof BROWSERS, userAgent: string) => names.find(([sign]) => userAgent.includes(sign))?.[1]

/** `Firefox on Linux`; the whole name when it is another program. */
export function browserOf(userAgent: string): string {
  const browser = find(BROWSERS, userAgent)
  const system = find(SYSTEMS, userAgent)
  if (!browser) return userAgent || 'Unknown browser'
  return system ? `${browser} on ${system}` : browser
}
