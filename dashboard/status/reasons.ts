import { Reason } from '../../gen/verdict/v1/outcomes_pb.ts'

/** What a list says of each reason. */
export const REASON_WORDS: Record<Reason, string> = {
  [Reason.UNSPECIFIED]: '',
  [Reason.MAILBOX_FULL]: 'Mailbox full',
  [Reason.MAILBOX_DOES_NOT_EXIST]: 'No such mailbox',
  [Reason.NO_MX_RECORD]: 'No mail server',
  [Reason.CONNECTION_TIMEOUT]: 'No connection',
  [Reason.POLICY_BLOCK]: 'Blocked by policy',
  [Reason.SPAM_BLOCKED]: 'Refused as spam',
  [Reason.TEMPORARY_FAILURE]: 'Refused for now',
  [Reason.SUPPRESSION_LIST]: 'Suppressed',
  [Reason.INVALID_ADDRESS]: 'Invalid address',
  [Reason.DOMAIN_NOT_VERIFIED]: 'Domain not verified',
}

const CODES = new Map<Reason, string>(Object.entries(Reason).map(([name, reason]) => [reason, name.toLowerCase()]))

/** Every reason of this version. */
export const ALL_REASONS: Reason[] = [...CODES.keys()].filter((reason) => reason !== Reason.UNSPECIFIED)

/** The reason as the API writes it: `mailbox_full`. A reason of a later version has none. */
export const reasonCode = (reason: Reason): string | undefined => CODES.get(reason)

/** The reason that the API writes as `code`; undefined for another text. */
export function reasonOfCode(code: string | undefined): Reason | undefined {
  return ALL_REASONS.find((reason) => CODES.get(reason) === code)
}

/** The words of the reason that the API writes as `code`; the code itself for a reason of a later version. */
export function reasonWord(code: string): string {
  const reason = reasonOfCode(code)
  return (reason && REASON_WORDS[reason]) || code
}
