/** What a bounce or a complaint counts against its address. */
export type Strike = 'hard' | 'mailbox' | 'full' | 'complaint'

interface StrikeRule {
  /** The strike within seven days at which the address is suppressed. */
  at: number
  /** How long the suppression lasts; null is for good. */
  days: number | null
  reason: 'bounce' | 'complaint'
}

export const STRIKES: Record<Strike, StrikeRule> = {
  hard: { at: 1, days: null, reason: 'bounce' },
  mailbox: { at: 2, days: null, reason: 'bounce' },
  full: { at: 3, days: 7, reason: 'bounce' },
  complaint: { at: 1, days: null, reason: 'complaint' },
}

const HARD_STATUS = /^5\.1\.(1|3|6|10)$/

/**
 * Returns the strike of a bounce for this reason. A mailbox that a policy (enhanced status 5.7.x, RFC 3463) refuses has
 * none, whatever the reply's text says.
 */
export function strikeOfBounce(
  reason: string,
  { enhanced = '', saysUserUnknown }: { enhanced?: string; saysUserUnknown: boolean },
): Strike | null {
  if (reason === 'mailbox_full') return 'full'
  if (reason !== 'mailbox_does_not_exist' || enhanced.startsWith('5.7.')) return null
  return HARD_STATUS.test(enhanced) || (enhanced !== '5.2.1' && saysUserUnknown) ? 'hard' : 'mailbox'
}

/** Strikes that suppress only when they repeat. */
export const REPEATED_STRIKES = Object.entries(STRIKES).flatMap(([strike, { at }]) => (at > 1 ? strike : []))
