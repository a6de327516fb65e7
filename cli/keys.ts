import { Command } from '@commander-js/extra-typings'
import type { KeyKind } from '../server/access/api-key.ts'
import { type ApiKey, createKey, listKeys, revokeKey, scopesRefused } from '../server/access/api-keys.ts'
import { SCOPES, SCOPES_OF } from '../server/access/scopes.ts'
import { parsePublicId, publicId } from '../server/db/ids.ts'
import { accountOption, chooseAccount } from './accounts.ts'
import { CliError, command, type Print, readNameArgument } from './command.ts'
import { withDatabase } from './database.ts'
import { operator } from './operator.ts'
import { shortTime, table } from './table.ts'

export const keysCommand = (print: Print) =>
  new Command('keys')
    .description('Manage API keys: create, list, revoke')
    .addCommand(create(print))
    .addCommand(list(print))
    .addCommand(revoke(print))

const create = (print: Print) =>
  command(
    'create',
    'verdict keys create shop',
    'verdict keys create reader --scopes emails.read,events.read --expires 90d',
    'VERDICT_API_KEY=$(verdict keys create ci --test --json | jq -r .key)',
  )
    .summary('Create an API key')
    .description('Create an API key. The key is shown once; only its hash is stored.')
    .argument('<name>', 'Shown wherever people choose one', readNameArgument)
    .addOption(accountOption())
    .option('--test', 'Create a test key: its sends are dry runs, and it changes nothing')
    .option(
      '--scopes <list>',
      `What the key may do, any of ${SCOPES.join(', ')}; by default all that its kind may have`,
    )
    .option('--expires <time>', 'When the key expires, such as 12h, 90d or 2030-01-31; by default never')
    .action(async (name, { account, test, scopes: scopeList, expires }) => {
      const kind = test ? 'test' : 'live'
      const scopes = scopeList === undefined ? SCOPES_OF[kind] : readScopes(kind, scopeList)
      const { key, apiKey } = await withDatabase(async (db, clock) => {
        const expiresAt = expires === undefined ? undefined : readExpiry(expires, clock.now())
        const { id: accountId } = await chooseAccount(db, account)
        return createKey(db, clock, { accountId, name, kind, scopes, expiresAt, requester: operator(accountId) })
      })
      const text = `Created key ${publicId('key', apiKey.id)} "${apiKey.name}". It is shown only once:\n\n  ${key}\n`
      print({ json: { ...keyJson(apiKey), key }, text })
    })

const list = (print: Print) =>
  command('list', 'verdict keys list', 'verdict keys list --account "Web shop" --json')
    .description('List the API keys of an account')
    .addOption(accountOption())
    .action(async ({ account }) => {
      await withDatabase(async (db, clock) => {
        const keys = await listKeys(db, (await chooseAccount(db, account)).id)
        const rows = keys.map((key) => keyRow(key, clock.now()))
        const heading = ['KEY', 'NAME', 'BEGINS', 'STATE', 'LAST USED', 'SCOPES']
        print({ json: { keys: keys.map(keyJson) }, text: table(heading, rows, 'The account has no key.') })
      })
    })

const revoke = (print: Print) =>
  command('revoke', 'verdict keys revoke key_01jv3k8m5nfq0s2x7w9y4z6t1c')
    .summary('Revoke an API key for good')
    .description('Revoke an API key for good. It stops working within 5 seconds.')
    .argument('<key_id>')
    .addOption(accountOption())
    .action(async (keyId, { account }) => {
      const id = parsePublicId('key', keyId)
      if (!id) throw new CliError('usage', `${keyId} is not the id of a key. See: verdict keys list`)
      const apiKey = await withDatabase(async (db) => {
        const { id: accountId } = await chooseAccount(db, account)
        return revokeKey(db, accountId, id, operator(accountId))
      })
      if (!apiKey) throw new CliError('not_found', `The account has no key ${keyId}. See: verdict keys list`)
      print({ json: keyJson(apiKey), text: `Revoked key ${keyId} "${apiKey.name}".` })
    })

function readScopes(kind: KeyKind, text: string): string[] {
  const scopes = [...new Set(text.split(',').map((scope) => scope.trim()))]
  const refused = scopesRefused(kind, scopes)
  if (refused) throw new CliError('usage', refused)
  return scopes
}

const HOURS = { h: 1, d: 24 }

/** A duration from now, or an ISO 8601 date or time in UTC. */
function readExpiry(text: string, nowMs: number): Date {
  const [, count, unit] = /^(\d{1,5})([hd])$/.exec(text) ?? []
  const isDate = /^\d{4}-\d\d-\d\d(T[\d:.]+Z)?$/.test(text)
  const at = count
    ? new Date(nowMs + Number(count) * HOURS[unit as 'h' | 'd'] * 3_600_000)
    : new Date(isDate ? text : Number.NaN)
  if (at.getTime() > nowMs) return at
  throw new CliError(
    'usage',
    `--expires ${text}: must be a time in the future, such as 12h, 90d, 2030-01-31 or 2030-01-31T12:00:00Z`,
  )
}

function keyRow(key: ApiKey, nowMs: number): string[] {
  const { id, name, hint, lastUsedAt, scopes } = key
  return [publicId('key', id), name, `${hint}...`, keyState(key, nowMs), shortTime(lastUsedAt), scopes.join(',')]
}

function keyState({ expiresAt, revokedAt, test }: ApiKey, nowMs: number): string {
  if (revokedAt) return `revoked ${shortTime(revokedAt)}`
  if (expiresAt && expiresAt.getTime() <= nowMs) return `expired ${shortTime(expiresAt)}`
  const kind = test ? 'test' : 'live'
  return expiresAt ? `${kind} until ${shortTime(expiresAt)}` : kind
}

/** A key as `--json` prints it. */
export function keyJson(key: ApiKey) {
  return {
    key_id: publicId('key', key.id),
    account_id: publicId('acc', key.accountId),
    name: key.name,
    hint: key.hint,
    kind: key.test ? 'test' : 'live',
    scopes: key.scopes,
    created_by: key.createdBy && publicId('per', key.createdBy),
    created_at: key.createdAt,
    expires_at: key.expiresAt,
    revoked_at: key.revokedAt,
    last_used_at: key.lastUsedAt,
  }
}
