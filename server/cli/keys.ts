import type { KeyKind } from '../access/key.ts'
import { type ApiKey, createKey, listKeys, revokeKey, scopesRefused } from '../access/keys.ts'
import { SCOPES, SCOPES_OF } from '../access/scopes.ts'
import { readId, showId } from '../db/ids.ts'
import { accountOption, chooseAccount } from './accounts.ts'
import { command, Failure } from './command.ts'
import { withDatabase } from './surroundings.ts'
import { moment, table } from './table.ts'

export const create = command({
  summary: 'Create an API key. It is shown this once and stored nowhere.',
  words: ['name'],
  options: {
    account: accountOption,
    test: { type: 'boolean', help: 'a test key: its sends are dry runs, and it changes nothing' },
    scopes: {
      type: 'string',
      value: 'list',
      help: `what the key may do, of ${SCOPES.join(',')}; all its kind may have when left out`,
    },
    expires: { type: 'string', value: 'when', help: 'such as 12h, 90d or 2030-01-31; never when left out' },
  },
  examples: [
    'verdict keys create shop',
    'verdict keys create reader --scopes emails.read,events.read --expires 90d',
    'VERDICT_API_KEY=$(verdict keys create ci --test --json | jq -r .key)',
  ],
  async run({ account, test, scopes, expires }, [name]) {
    const kind = test ? 'test' : 'live'
    const wanted = scopes === undefined ? SCOPES_OF[kind] : readScopes(kind, scopes)
    return withDatabase(async (db, clock) => {
      const expiresAt = expires === undefined ? undefined : readExpiry(expires, clock.now())
      const { id: accountId } = await chooseAccount(db, account)
      const { key, apiKey } = await createKey(db, clock, { accountId, name: name!, kind, scopes: wanted, expiresAt })
      const text = `Created key ${showId('key', apiKey.id)} "${apiKey.name}". It is shown this once:\n\n  ${key}\n`
      return { json: { ...view(apiKey), key }, text }
    })
  },
})

export const list = command({
  summary: 'List the API keys of an account.',
  options: { account: accountOption },
  examples: ['verdict keys list', 'verdict keys list --account "Web shop" --json'],
  async run({ account }) {
    return withDatabase(async (db, clock) => {
      const keys = await listKeys(db, (await chooseAccount(db, account)).id)
      const rows = keys.map((key) => [
        showId('key', key.id),
        key.name,
        `${key.hint}...`,
        stateOf(key, clock.now()),
        moment(key.lastUsedAt),
        key.scopes.join(','),
      ])
      const heading = ['KEY', 'NAME', 'BEGINS', 'STATE', 'LAST USED', 'SCOPES']
      return { json: { keys: keys.map(view) }, text: table(heading, rows, 'The account has no key.') }
    })
  },
})

export const revoke = command({
  summary: 'Revoke an API key. It stops working within 5 seconds, for good.',
  words: ['key_id'],
  options: { account: accountOption },
  examples: ['verdict keys revoke key_01jv3k8m5nfq0s2x7w9y4z6t1c'],
  async run({ account }, [shown]) {
    const id = readId('key', shown!)
    if (!id) throw new Failure('usage', `${shown} is not the id of a key. See: verdict keys list`)
    return withDatabase(async (db) => {
      const apiKey = await revokeKey(db, (await chooseAccount(db, account)).id, id)
      if (!apiKey) throw new Failure('not_found', `The account has no key ${shown}. See: verdict keys list`)
      return { json: view(apiKey), text: `Revoked key ${shown} "${apiKey.name}".` }
    })
  },
})

function readScopes(kind: KeyKind, text: string): string[] {
  const scopes = [...new Set(text.split(',').map((scope) => scope.trim()))]
  const refused = scopesRefused(kind, scopes)
  if (refused) throw new Failure('usage', refused)
  return scopes
}

const HOURS = { h: 1, d: 24 }

function readExpiry(text: string, nowMs: number): Date {
  const [, count, unit] = /^(\d{1,5})([hd])$/.exec(text) ?? []
  const isDate = /^\d{4}-\d\d-\d\d(T[\d:.]+Z)?$/.test(text)
  const at = count
    ? new Date(nowMs + Number(count) * HOURS[unit as 'h' | 'd'] * 3_600_000)
    : new Date(isDate ? text : Number.NaN)
  if (at.getTime() > nowMs) return at
  throw new Failure(
    'usage',
    `--expires ${text} is no time to come. Examples: 12h, 90d, 2030-01-31, 2030-01-31T12:00:00Z`,
  )
}

function stateOf({ expiresAt, revokedAt, test }: ApiKey, nowMs: number): string {
  if (revokedAt) return `revoked ${moment(revokedAt)}`
  if (expiresAt && expiresAt.getTime() <= nowMs) return `expired ${moment(expiresAt)}`
  return expiresAt ? `${test ? 'test' : 'live'} until ${moment(expiresAt)}` : test ? 'test' : 'live'
}

function view(key: ApiKey) {
  return {
    key_id: showId('key', key.id),
    account_id: showId('acc', key.accountId),
    name: key.name,
    hint: key.hint,
    kind: key.test ? 'test' : 'live',
    scopes: key.scopes,
    created_at: key.createdAt,
    expires_at: key.expiresAt,
    revoked_at: key.revokedAt,
    last_used_at: key.lastUsedAt,
  }
}
