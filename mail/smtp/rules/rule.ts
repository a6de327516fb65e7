import type { BounceReason, Kind, Phase, Subject } from '../attempt.ts'

/** The command that a reply is to, the greeting, or a report that came after the message had been accepted. */
export type ReplyPhase = Phase | 'late'

/**
 * A row holds when all of its conditions hold, `text` for one clause of the reply; the first row that holds decides.
 * A row has no exceptions: what would be one is a row before it.
 */
export interface ReplyRule {
  /** What the reply says about its subject. Together with the subject it names the row. */
  name: string
  subject: Subject
  /** Any phase of a recipient or a message when absent. */
  phases?: readonly ReplyPhase[]
  /** Matches the three digits; any code when absent. */
  code?: RegExp
  /** Matches the RFC 3463 status; such a row never holds for a reply without a status. */
  status?: RegExp
  /** Holds only for a reply without a status. */
  bare?: true
  /** Holds only for a reply without words: addresses, links and ids are none. */
  silent?: true
  /** The exchanger's name is one of these or a name below one of them. */
  mx?: readonly string[]
  /** Matches in a clause, as `plainText` writes it. */
  text?: RegExp
  /** The reason of a 5xx reply. That of a 4xx reply is `temporary_failure`. */
  reason: BounceReason
  /** A 4xx reply has the same reason. */
  evenFor4xx?: true
  /** What a bounce says about its address; absent where it says nothing about it. */
  kind?: Kind
}

export const CONTENT_PHASES: readonly ReplyPhase[] = ['data', 'dot', 'late']
export const LATE_PHASES: readonly ReplyPhase[] = ['late']
/** While we talk to the recipient's server ourselves. */
export const LIVE_PHASES: readonly ReplyPhase[] = ['rcpt', 'data', 'dot']

/** A row about the sender, which never counts against an address. */
export const senderRow = (name: string, when: Partial<ReplyRule>): ReplyRule => ({
  name,
  subject: 'sender',
  ...when,
  reason: 'policy_block',
})
