/** What the actions of the audit log mean. */
const WORDS: Record<string, string> = {
  'account.create': 'Created the account',
  'account.tier': 'Changed the tier',
  'account.rename': 'Renamed the account to',
  'key.create': 'Created the key',
  'key.revoke': 'Revoked the key',
  'domain.create': 'Added the domain',
  'domain.change': 'Changed the domain',
  'domain.delete': 'Deleted the domain',
  'domain.resume': 'Resumed sending from',
  'dkim.rotate': 'Rotated the DKIM key of',
  'email.send': 'Sent an email to',
  'webhook.create': 'Added the endpoint',
  'webhook.set': 'Set the endpoint',
  'webhook.change': 'Changed the endpoint',
  'webhook.delete': 'Deleted the endpoint',
  'webhook.rotate_secret': 'Replaced the secret of',
  'suppression.add': 'Suppressed',
  'suppression.remove': 'Removed the suppression of',
  'suppression.lift': 'Lifted the suppressions of bounces,',
  'suppression.import': 'Imported suppressions',
  'suppression.undo_import': 'Undid an import of suppressions',
  'address.erase': 'Erased an address, now',
  'person.invite': 'Invited',
  'person.withdraw_invitation': 'Withdrew the invitation of',
  'person.join': 'Joined the account:',
  'person.rename': 'Changed the name of',
  'person.role': 'Changed the role of',
  'person.remove': 'Removed',
  'person.end_session': 'Ended a session of',
  'person.change_password': 'Changed the password of',
  'person.lose_address': 'Another person proved ownership of the address',
  'person.reset_password': 'Set a new password by a mailed link for',
  'person.second_factor': 'Set up or ended the second factor of',
  'person.make_backup_codes': 'Made backup codes for',
  'person.use_backup_code': 'Used a backup code of',
  'person.fail_sign_in': 'Failed to sign in as',
  'person.oidc_sign_in': 'Signed in by OpenID Connect as',
  'person.oidc_link': 'Linked an identity of OpenID Connect to',
  'person.oidc_unlink': 'Unlinked an identity of OpenID Connect from',
  'notification_url.set': 'Set the notification URL at',
  'notification_url.remove': 'Removed the notification URL at',
  'replay.start': 'Started a replay of',
  'replay.cancel': 'Cancelled the replay',
}

/** The words for an action; the action itself when it has none. */
export const actionWords = (action: string) => WORDS[action] ?? action

const IMPORT_WORDS: Record<string, string> = {
  running: 'Began to import',
  finished: 'Finished the import of',
  cancelled: 'Cancelled the import of',
}

/** The words before an entry's target. An import of a file has an entry for its start and one for its end. */
export function entryWords(action: string, after: Readonly<Record<string, unknown>>): string {
  if (action === 'person.second_factor') return `${after.on ? 'Set up' : 'Ended'} the second factor of`
  if (action !== 'suppression.import') return actionWords(action)
  return IMPORT_WORDS[String(after.state)] ?? 'Imported suppressions:'
}
