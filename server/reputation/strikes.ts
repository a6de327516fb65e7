import type { Kind } from '../../mail/smtp/attempt.ts'
import { RULES, readAs } from '../../mail/smtp/rules.ts'

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

/**
 * Returns the strike of a bounce that was read like this (`mailbox (unknown)`). Only a reply about the mailbox or its
 * space has one: the row of the rules says which.
 */
export function strikeOfReading(reason: string, readAs: string | undefined): Strike | null {
  const isAboutMailbox = reason === 'mailbox_full' || reason === 'mailbox_does_not_exist'
  return (isAboutMailbox && readAs !== undefined && STRIKE_OF_READING.get(readAs)) || null
}

/** Strikes that suppress only when they repeat. */
export const REPEATED_STRIKES = Object.entries(STRIKES).flatMap(([strike, { at }]) => (at > 1 ? strike : []))

const STRIKE_OF_KIND: Record<Kind, Strike> = { unknown: 'hard', status: 'mailbox', refused: 'mailbox', full: 'full' }
const STRIKE_OF_READING = new Map(
  RULES.flatMap(({ subject, name, kind }) => (kind ? [[readAs({ subject, row: name }), STRIKE_OF_KIND[kind]]] : [])),
)
