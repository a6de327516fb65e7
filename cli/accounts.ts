import { Command, Option } from '@commander-js/extra-typings'
import { record } from '../server/access/audit/record-change.ts'
import { type OperatorLimits, tierOf } from '../server/config/limits.ts'
import type { Database } from '../server/db/connect.ts'
import { publicId } from '../server/db/ids.ts'
import { type Account, createAccount, listAccounts, renameAccount, setTier } from '../server/directory/accounts.ts'
import { CliError, command, type Print, readNameArgument } from './command.ts'
import { withDatabase } from './database.ts'
import { variables } from './environment.ts'
import { operator } from './operator.ts'
import { shortTime, table } from './table.ts'

export const accountOption = (description = 'The id or name of the account; needed when there are several') =>
  new Option('--account <account>', description)

export const accountsCommand = (print: Print) =>
  new Command('accounts')
    .summary('Manage accounts: create, list, tier, rename')
    .description('Manage accounts. An account owns domains, keys and messages.')
    .addCommand(create(print))
    .addCommand(list(print))
    .addCommand(tier(print))
    .addCommand(rename(print))

const create = (print: Print) =>
  command('create', 'verdict accounts create "Web shop"', 'verdict accounts create Mailer --tier pro')
    .summary('Create an account')
    .description('Create an account. It owns domains, keys and messages.')
    .argument('<name>', 'Shown wherever people choose one', readNameArgument)
    .option('--tier <tier>', 'How many requests it may make a minute; by default that of DEFAULT_TIER')
    .action(async (name, { tier }) => {
      if (tier !== undefined) checkTier(readLimits(), tier)
      const account = await withDatabase((db, clock) =>
        db.transaction(async (tx) => {
          const created = await createAccount(tx, clock, name)
          const after = tier === undefined ? undefined : { tier }
          await record(tx, { ...operator(created.id), action: 'account.create', target: name, after })
          return tier === undefined || tier === DEFAULT ? created : setTier(tx, created.id, tier)
        }),
      )
      print({ json: view(account), text: `Created account ${publicId('acc', account.id)} "${account.name}".` })
    })

const list = (print: Print) =>
  command('list', 'verdict accounts list', 'verdict accounts list --json')
    .description('List the accounts')
    .action(async () => {
      const limits = readLimits()
      const accounts = await withDatabase(listAccounts)
      const rows = accounts.map(({ id, name, tier, createdAt }) => {
        return [publicId('acc', id), name, describeTier(limits, tier), shortTime(createdAt)]
      })
      const text = table(['ACCOUNT', 'NAME', 'TIER', 'CREATED'], rows, NO_ACCOUNT)
      print({ json: { accounts: accounts.map(view) }, text })
    })

const tier = (print: Print) =>
  command('tier', 'verdict accounts tier pro', 'verdict accounts tier default --account "Web shop"')
    .summary('Set the tier of an account: how many requests it may make a minute')
    .description('Set the tier of an account: how many requests it may make a minute. Takes effect within 5 seconds.')
    .argument('<tier>')
    .addOption(accountOption())
    .action(async (name, { account }) => {
      const limits = readLimits()
      checkTier(limits, name)
      const changed = await withDatabase(async (db) => {
        const chosen = await chooseAccount(db, account)
        const tier = name === DEFAULT ? null : name
        return db.transaction(async (tx) => {
          const fields = { target: chosen.name, before: { tier: chosen.tier }, after: { tier } }
          await record(tx, { ...operator(chosen.id), action: 'account.tier', ...fields })
          return setTier(tx, chosen.id, tier)
        })
      })
      const text = `Account ${publicId('acc', changed.id)} "${changed.name}" has the tier ${describeTier(limits, changed.tier)}.`
      print({ json: view(changed), text })
    })

const rename = (print: Print) =>
  command('rename', 'verdict accounts rename "Web shop"', 'verdict accounts rename Shop --account "Web shop"')
    .description('Change the name of an account')
    .argument('<name>', 'Shown wherever people choose one', readNameArgument)
    .addOption(accountOption())
    .action(async (name, { account }) => {
      const renamed = await withDatabase(async (db) => {
        const chosen = await chooseAccount(db, account)
        return db.transaction(async (tx) => {
          const before = await renameAccount(tx, chosen.id, name)
          const fields = { target: name, before: { name: before }, after: { name } }
          await record(tx, { ...operator(chosen.id), action: 'account.rename', ...fields })
          return { ...chosen, name }
        })
      })
      print({ json: view(renamed), text: `Account ${publicId('acc', renamed.id)} has the name "${name}".` })
    })

function checkTier({ tiers }: OperatorLimits, name: string): void {
  if (name === DEFAULT || Object.hasOwn(tiers, name)) return
  const names = [...Object.keys(tiers), DEFAULT].join(', ')
  throw new CliError('usage', `There is no tier ${name}. The tiers are ${names}; TIERS_FILE can define others.`)
}

/** An account without its own tier has that of DEFAULT_TIER. */
const DEFAULT = 'default'

const NO_ACCOUNT = 'There is no account. Create one: verdict accounts create <name>'

function readLimits(): OperatorLimits {
  const { tiers, defaultTier } = variables('tiers', 'defaultTier')
  return { ...tiers, defaultTier }
}

function describeTier(limits: OperatorLimits, tier: string | null): string {
  const { name, requestsPerMinute } = tierOf(limits, tier)
  const shown = tier === null ? `${DEFAULT} (${name})` : tier === name ? name : `${tier} (unknown, so ${name})`
  return `${shown}, ${requestsPerMinute}/min`
}

/** The account with this id or name. Without one, the only account. */
export async function chooseAccount(db: Database, idOrName: string | undefined): Promise<Account> {
  const accounts = await listAccounts(db)
  const matches =
    idOrName === undefined
      ? accounts
      : accounts.filter(({ id, name }) => name === idOrName || publicId('acc', id) === idOrName)
  const [first, second] = matches
  if (first && !second) return first
  if (second) throw new CliError('usage', `There are several accounts. Choose one with --account:\n${linesOf(matches)}`)
  if (idOrName !== undefined)
    throw new CliError('not_found', `There is no account ${idOrName}. See: verdict accounts list`)
  throw new CliError('not_found', NO_ACCOUNT)
}

function linesOf(accounts: Account[]): string {
  return accounts.map(({ id, name }) => `  ${publicId('acc', id)}  ${name}`).join('\n')
}

function view({ id, name, tier, createdAt }: Account) {
  return { account_id: publicId('acc', id), name, tier, created_at: createdAt }
}
