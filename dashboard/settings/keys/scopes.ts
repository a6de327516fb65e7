/** What each scope allows, in a sentence. */
const SENTENCES: Record<string, string> = {
  'emails.send': 'Sends emails and batches, and validates them without sending.',
  'emails.read': 'Reads messages, their outcomes and receipts.',
  'events.read': 'Reads events and the attempts to push them.',
  'events.replay': 'Pushes stored events to the endpoint again.',
  'domains.read': 'Reads domains, their DNS records and their warm-up.',
  'domains.write': 'Adds, checks, changes and deletes domains.',
  'suppression.read': 'Reads the suppression list.',
  'suppression.write': 'Adds and removes suppressed addresses, and imports them.',
  'stats.read': 'Reads statistics.',
  'webhooks.read': 'Reads the webhook endpoint and its health.',
  'webhooks.write': 'Sets, tests and deletes the endpoint, and replaces its secret.',
}

export const sentenceOf = (scope: string) => SENTENCES[scope] ?? ''

/** What a new key may do unless the person chooses otherwise. */
export const USUAL_SCOPES = ['emails.send', 'emails.read']
