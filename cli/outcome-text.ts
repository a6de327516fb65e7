/** The outcome of an email or of one recipient in the service's responses. */
export interface PrintedOutcome {
  status: string
  reason?: string
  in_doubt?: boolean
}

/** An outcome in words, such as `bounced, mailbox_full`. */
export const outcomeText = ({ status, reason, in_doubt }: PrintedOutcome) =>
  status + (reason ? `, ${reason}` : '') + (in_doubt ? ' (in doubt: it may have arrived)' : '')

/** A recipient's address, with its kind unless it is a recipient of To. */
export const recipientText = ({ email, kind }: { email: string; kind?: string }) =>
  kind === 'cc' || kind === 'bcc' ? `${email} (${kind})` : email
