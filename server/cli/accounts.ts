import { type Account, createAccount, listAccounts } from '../access/accounts.ts'
import type { Database } from '../db/connect.ts'
import { showId } from '../db/ids.ts'
import { command, Failure, type Option } from './command.ts'
import { withDatabase } from './surroundings.ts'
import { moment, table } from './table.ts'

export const accountOption = {
  type: 'string',
  value: 'account',
  help: 'id or name of the account; not needed while there is only one',
} as const satisfies Option

export const create = command({
  summary: 'Create an account. It owns domains, keys and messages.',
  words: ['name'],
  options: {},
  examples: ['verdict accounts create "Web shop"'],
  async run(_, [name]) {
    const account = await withDatabase((db, clock) => createAccount(db, clock, name!))
    return { json: view(account), text: `Created account ${showId('acc', account.id)} "${account.name}".` }
  },
})

export const list = command({
  summary: 'List the accounts.',
  options: {},
  examples: ['verdict accounts list', 'verdict accounts list --json'],
  async run() {
    const accounts = await withDatabase((db) => listAccounts(db))
    const rows = accounts.map(({ id, name, createdAt }) => [showId('acc', id), name, moment(createdAt)])
    const text = table(
      ['ACCOUNT', 'NAME', 'CREATED'],
      rows,
      'There is no account. Create one: verdict accounts create <name>',
    )
    return { json: { accounts: accounts.map(view) }, text }
  },
})

/** The account of that id or name; without one, the only account there is. */
export async function chooseAccount(db: Database, idOrName: string | undefined): Promise<Account> {
  const accounts = await listAccounts(db)
  const fitting =
    idOrName === undefined
      ? accounts
      : accounts.filter(({ id, name }) => name === idOrName || showId('acc', id) === idOrName)
  if (fitting.length === 1) return fitting[0]!
  if (fitting.length > 1)
    throw new Failure('usage', `There are several accounts. Choose one with --account:\n${names(fitting)}`)
  if (idOrName !== undefined)
    throw new Failure('not_found', `There is no account ${idOrName}. See: verdict accounts list`)
  throw new Failure('not_found', 'There is no account. Create one: verdict accounts create <name>')
}

function names(accounts: Account[]): string {
  return accounts.map(({ id, name }) => `  ${showId('acc', id)}  ${name}`).join('\n')
}

function view({ id, name, tier, createdAt }: Account) {
  return { account_id: showId('acc', id), name, tier, created_at: createdAt }
}
