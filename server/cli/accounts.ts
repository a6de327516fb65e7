import { type Account, createAccount, listAccounts, setTier } from '../access/accounts.ts'
import { type Limits, tierOf } from '../config/limits.ts'
import type { Database } from '../db/connect.ts'
import { showId } from '../db/ids.ts'
import { command, Failure, type Option } from './command.ts'
import { variables, withDatabase } from './surroundings.ts'
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
    const limits = limitsHere()
    const accounts = await withDatabase((db) => listAccounts(db))
    const rows = accounts.map(({ id, name, tier, createdAt }) => [
      showId('acc', id),
      name,
      describeTier(limits, tier),
      moment(createdAt),
    ])
    const text = table(
      ['ACCOUNT', 'NAME', 'TIER', 'CREATED'],
      rows,
      'There is no account. Create one: verdict accounts create <name>',
    )
    return { json: { accounts: accounts.map(view) }, text }
  },
})

export const tier = command({
  summary: 'Set the tier of an account: how many requests a minute it has. It holds within 5 seconds.',
  words: ['tier'],
  options: { account: accountOption },
  examples: ['verdict accounts tier pro', 'verdict accounts tier default --account "Web shop"'],
  async run({ account }, [wanted]) {
    const limits = limitsHere()
    if (wanted !== DEFAULT && !Object.hasOwn(limits.tiers, wanted!)) {
      const known = [...Object.keys(limits.tiers), DEFAULT].join(', ')
      throw new Failure('usage', `There is no tier ${wanted}. Tiers are ${known}; TIERS_FILE may name others.`)
    }
    return withDatabase(async (db) => {
      const { id } = await chooseAccount(db, account)
      const changed = await setTier(db, id, wanted === DEFAULT ? null : wanted!)
      const text = `Account ${showId('acc', id)} "${changed.name}" has the tier ${describeTier(limits, changed.tier)}.`
      return { json: view(changed), text }
    })
  },
})

/** No tier of its own: that of DEFAULT_TIER. */
const DEFAULT = 'default'

function limitsHere(): Limits {
  const { tiers, defaultTier } = variables('tiers', 'defaultTier')
  return { ...tiers, defaultTier }
}

function describeTier(limits: Limits, tier: string | null): string {
  const { name, requestsPerMinute } = tierOf(limits, tier)
  const shown = tier === null ? `${DEFAULT} (${name})` : tier === name ? name : `${tier} (unknown, so ${name})`
  return `${shown}, ${requestsPerMinute}/min`
}

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
