/** Every page of an account and its path. Names after a colon stand for ids. */
export const PAGES: [name: string, path: string][] = [
  ['Overview', ''],
  ['Messages', '/messages'],
  ['Messages without a match', '/messages?recipient=nobody%40example.com'],
  ['Message', '/messages/:message'],
  ['Refused sends', '/refused-sends'],
  ['Events', '/events'],
  ['Replay a range', '/events/replay'],
  ['Replay', '/events/replays/:replay'],
  ['Domains', '/domains'],
  ['Domain', '/domains/:domain'],
  ['Suppressions', '/suppressions'],
  ['Import suppressions', '/suppressions/import'],
  ['API keys', '/settings/keys'],
  ['Webhook', '/settings/webhook'],
  ['Notifications', '/settings/notifications'],
  ['People', '/settings/people'],
  ['Audit log', '/settings/audit'],
  ['Limits', '/settings/limits'],
  ['Profile', '/settings/profile'],
  ['Inbox', '/inbox'],
  ['Inbox message', '/inbox/:inbox'],
]

export interface Ids {
  message: string
  domain: string
  replay: string
  inbox: string
}

export const pathOf = (path: string, ids: Ids) => path.replace(/:(\w+)/, (_, name: keyof Ids) => ids[name])
