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

export const scopeSentence = (scope: string) => SENTENCES[scope] ?? ''

/** What a new key may do unless the person chooses otherwise. */
export const USUAL_SCOPES = ['emails.send', 'emails.read']

/** What most keys are for, and the choice of single scopes. */
export type Access = 'usual' | 'all' | 'chosen'

export const ACCESSES: [access: Access, label: string, description: string][] = [
  ['usual', 'Send and look up', 'Sends emails, and reads messages and their outcomes.'],
  ['all', 'Everything', 'Every call of the API, changes of domains, suppressions and webhooks included.'],
  ['chosen', 'Choose what it may do', 'Single scopes, each with what it allows.'],
]

/** The scopes of a key. `offered` are those that its kind can have. */
export function scopesOf(access: Access, offered: readonly string[], chosen: readonly string[]): string[] {
  if (access === 'all') return [...offered]
  return (access === 'usual' ? USUAL_SCOPES : chosen).filter((scope) => offered.includes(scope))
}
