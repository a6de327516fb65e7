/** Every action of the audit log: what was changed, and how. */
export const ACTIONS = [
  'account.create',
  'account.tier',
  'key.create',
  'key.revoke',
  'domain.create',
  'domain.change',
  'domain.delete',
  'dkim.rotate',
  'webhook.set',
  'webhook.delete',
  'webhook.rotate_secret',
  'suppression.add',
  'suppression.remove',
  'suppression.import',
  'address.erase',
  'person.invite',
  'person.withdraw_invitation',
  'person.join',
  'person.role',
  'person.remove',
  'person.end_session',
  'person.second_factor',
  'replay.start',
  'replay.cancel',
] as const

export type Action = (typeof ACTIONS)[number]
