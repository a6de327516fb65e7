import { Command, Option } from '@commander-js/extra-typings'
import type { ApiKey } from '../server/access/api-keys.ts'
import { personEmail } from '../server/access/people/email.ts'
import { hasPeople } from '../server/access/people/first-person.ts'
import { type Invited, inviteFirstPerson, invite as inviteTo, linkOf } from '../server/access/people/invitations.ts'
import { removeMember } from '../server/access/people/member-changes.ts'
import { listMembers, type Member } from '../server/access/people/members.ts'
import { publicId } from '../server/db/ids.ts'
import { ROLES } from '../server/db/people-schema.ts'
import { accountOption, chooseAccount } from './accounts.ts'
import { CliError, command, type Print } from './command.ts'
import { withDatabase } from './database.ts'
import { developmentUrl, variables } from './environment.ts'
import { keyJson as keyView } from './keys.ts'
import { operator } from './operator.ts'
import { shortTime, table } from './table.ts'

export const peopleCommand = (print: Print) =>
  new Command('people')
    .summary('Manage the people who use the dashboard: list, set-up, invite, remove')
    .description('Manage the people who use the dashboard.')
    .addCommand(list(print))
    .addCommand(setUp(print))
    .addCommand(invite(print))
    .addCommand(remove(print))

const list = (print: Print) =>
  command('list', 'verdict people list', 'verdict people list --account "Web shop" --json')
    .description('List the people of an account')
    .addOption(accountOption())
    .action(async ({ account }) => {
      const members = await withDatabase(async (db) => listMembers(db, (await chooseAccount(db, account)).id))
      const rows = members.map(({ personId, name, email, role, secondFactor, joinedAt }) => {
        return [publicId('per', personId), name, email, role, secondFactor ? 'yes' : 'no', shortTime(joinedAt)]
      })
      const heading = ['PERSON', 'NAME', 'EMAIL', 'ROLE', 'SECOND FACTOR', 'JOINED']
      print({ json: { people: members.map(view) }, text: table(heading, rows, 'The account has no people.') })
    })

const setUp = (print: Print) =>
  command('set-up', 'verdict people set-up')
    .summary('Create a link by which you become an owner of every account')
    .description(
      'Create a link by which you become an owner of every account. It works once, for 24 hours. An earlier one ends.',
    )
    .action(async () => {
      const { invited, isFirst } = await withDatabase(async (db, clock) => ({
        invited: await db.transaction((tx) => inviteFirstPerson(tx, clock)),
        isFirst: !(await hasPeople(db)),
      }))
      const why = isFirst ? 'No person can sign in yet. Open' : 'Open'
      printLink(print, invited, `${why} this link to create a sign-in. It works once, for 24 hours:`)
    })

const invite = (print: Print) =>
  command('invite', 'verdict people invite ann@example.com', 'verdict people invite bob@example.com --role reader')
    .summary('Create a link by which a person joins an account')
    .description(
      'Create a link by which a person joins an account. It works once, for 7 days. With NOTIFY_FROM the API also mails one.',
    )
    .argument('<email>')
    .addOption(new Option('--role <role>', 'What the person may do').choices(ROLES).default('member' as const))
    .addOption(accountOption())
    .action(async (text, { role, account }) => {
      const email = readEmail(text)
      const isMailed = variables('notifyFrom').notifyFrom !== undefined
      const invited = await withDatabase(async (db, clock) => {
        const { id: accountId, name } = await chooseAccount(db, account)
        const created = await inviteTo(db, clock, operator(accountId), { email, role, isMailed })
        if (!created) throw new CliError('usage', `${email} already belongs to account "${name}".`)
        return created
      })
      const next = isMailed
        ? `A mail is on its way to ${email}. Or give them this link.`
        : `Give this link to ${email}.`
      printLink(print, invited, `${next} It works once, for 7 days:`)
    })

const remove = (print: Print) =>
  command('remove', 'verdict people remove ann@example.com', 'verdict people remove ann@example.com --revoke-keys')
    .summary('Remove a person from an account')
    .description(
      'Remove a person from an account. A person who then belongs to no account cannot sign in any more, and a new ' +
        'invitation sets a new password. The invitations that they made no longer work. The API keys that they created ' +
        'keep working unless they are revoked.',
    )
    .argument('<email>')
    .option('--revoke-keys', 'Revoke the API keys of the account that the person created')
    .addOption(accountOption())
    .action(async (text, { account, revokeKeys = false }) => {
      const email = readEmail(text)
      const { member, keys } = await withDatabase(async (db, clock) => {
        const { id: accountId } = await chooseAccount(db, account)
        const member = (await listMembers(db, accountId)).find((member) => member.email === email)
        if (!member) throw new CliError('not_found', `The account has no person ${email}. See: verdict people list`)
        return removeMember({ db, clock }, operator(accountId), { personId: member.personId, revokeKeys })
      })
      const json = { ...view(member), keys: keys.map(keyView) }
      print({ json, text: `Removed ${email}.${keysInWords(keys)}` })
    })

/** What became of the keys of a removed person. */
function keysInWords(keys: ApiKey[]): string {
  const [key] = keys
  if (!key) return ''
  const what = key.revokedAt
    ? 'Revoked the keys that they created:'
    : 'The keys that they created still work. Revoke them with "verdict keys revoke <key_id>":'
  const lines = keys.map(({ id, name, hint }) => `  ${publicId('key', id)}  ${hint}...  ${name}`)
  return ` ${what}\n\n${lines.join('\n')}\n`
}

function readEmail(text: string): string {
  const email = personEmail(text)
  if (email === undefined) throw new CliError('usage', `${text} is not an address that a person can sign in with.`)
  return email
}

function printLink(print: Print, invited: Invited, before: string): void {
  const url = linkOf(variables('publicUrl').publicUrl ?? developmentUrl(), invited)
  const { email, role, expiresAt } = invited.invitation
  print({ json: { url, email, role, expires_at: expiresAt }, text: `${before}\n\n  ${url}\n` })
}

function view({ personId, name, email, role, secondFactor, joinedAt }: Member) {
  const person_id = publicId('per', personId)
  return { person_id, name, email, role, second_factor: secondFactor, joined_at: joinedAt }
}
