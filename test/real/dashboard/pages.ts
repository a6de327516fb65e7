/** Every page of an account and its path. `:message` and `:domain` stand for ids. */
export const PAGES: [name: string, path: string][] = [
  ['Overview', ''],
  ['Messages', '/messages'],
  ['Messages without a match', '/messages?recipient=nobody%40example.com'],
  ['Message', '/messages/:message'],
  ['Events', '/events'],
  ['Replay a range', '/events/replay'],
  ['Domains', '/domains'],
  ['Domain', '/domains/:domain'],
  ['Suppressions', '/suppressions'],
  ['Import suppressions', '/suppressions/import'],
  ['API keys', '/settings/keys'],
  ['Webhook', '/settings/webhook'],
  ['People', '/settings/people'],
  ['Audit log', '/settings/audit'],
  ['Limits', '/settings/limits'],
  ['Profile', '/settings/profile'],
  ['Inbox', '/inbox'],
]

export interface Ids {
  message: string
  domain: string
}

export const pathOf = (path: string, { message, domain }: Ids) =>
  path.replace(':message', message).replace(':domain', domain)
