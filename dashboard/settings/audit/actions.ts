/** What the actions of the audit log mean. */
const WORDS: Record<string, string> = {
  'account.create': 'Created the account',
  'account.tier': 'Changed the tier',
  'key.create': 'Created the key',
  'key.revoke': 'Revoked the key',
  'domain.create': 'Added the domain',
  'domain.change': 'Changed the domain',
  'domain.delete': 'Deleted the domain',
  'dkim.rotate': 'Rotated the DKIM key of',
  'webhook.set': 'Set the endpoint',
  'webhook.delete': 'Deleted the endpoint',
  'webhook.rotate_secret': 'Replaced the secret of',
  'suppression.add': 'Suppressed',
  'suppression.remove': 'Removed the suppression of',
  'suppression.import': 'Imported suppressions from',
  'person.invite': 'Invited',
  'person.join': 'Joined as',
  'person.role': 'Changed the role of',
  'person.remove': 'Removed',
  'person.end_session': 'Ended a session of',
  'person.second_factor': 'Turned on or off the second factor of',
  'replay.start': 'Started a replay of',
  'replay.cancel': 'Cancelled the replay',
}

/** The words for an action; the action itself when it has none. */
export const actionWords = (action: string) => WORDS[action] ?? action
