import { Command, Option } from '@commander-js/extra-typings'
import { matchingForm, parseAddress } from '../mail/address.ts'
import { record } from '../server/access/audit/record-change.ts'
import { createSealer } from '../server/db/encryption.ts'
import { EVERYBODY } from '../server/db/schema.ts'
import { spellingsOf } from '../server/reputation/erasure-key.ts'
import { addSuppressions, removeSuppression } from '../server/reputation/suppression-list.ts'
import { EVIDENCE_KINDS, SUPPRESSION_REASONS } from './choices.ts'
import { CliError, command, type Print } from './command.ts'
import { withDatabase } from './database.ts'
import { variables } from './environment.ts'
import { operator } from './operator.ts'
import { recheckCommand } from './recheck.ts'
import { callApi, query, urlOption } from './service.ts'
import { ENTRY_HEADING, entryRow, type PrintedEntry } from './suppression-entry.ts'
import { exportSuppressionsCommand } from './suppression-export.ts'
import { liftCommand } from './suppression-lift.ts'
import { pageText, table } from './table.ts'

const PATH = '/api/v1/suppression'

const tenantOption = (help: string) => new Option('--tenant <tenant_id>', help)
const globalOption = () =>
  new Option('--global', 'For all accounts of this service; works on the database, for the operator only')

export const suppressionCommand = (print: Print) =>
  new Command('suppression')
    .summary('Manage the suppression list: list, add, remove, lift, export, undo, recheck')
    .description('Manage the suppression list. Nothing is sent to the addresses on it.')
    .addCommand(list(print))
    .addCommand(add(print))
    .addCommand(remove(print))
    .addCommand(liftCommand(print))
    .addCommand(exportSuppressionsCommand(print))
    .addCommand(undo(print))
    .addCommand(recheckCommand(print))

const list = (print: Print) =>
  command('list', 'verdict suppression list', 'verdict suppression list --email ann@example.com')
    .description('List the suppressed addresses, newest first')
    .option('--email <address>', 'Only entries of this address, the global one included')
    .addOption(new Option('--reason <reason>', 'Only entries with this reason').choices(SUPPRESSION_REASONS))
    .addOption(new Option('--kind <kind>', 'Only entries whose evidence has this kind').choices(EVIDENCE_KINDS))
    .option('--domain <domain>', 'Only entries of addresses of this domain')
    .option('--created-from <time>', 'Only created from this time on, such as 2026-01-31 or 2026-01-31T12:00:00Z')
    .option('--created-to <time>', 'Only created before this time')
    .addOption(tenantOption('Only entries of this tenant'))
    .option('--limit <number>', 'How many entries to list, from 1 to 1,000; by default 50')
    .option('--cursor <cursor>', 'The next_cursor of the previous page')
    .addOption(urlOption())
    .action(async ({ url, tenant: tenant_id, createdFrom: created_from, createdTo: created_to, ...filters }) => {
      const path = PATH + query({ ...filters, tenant_id, created_from, created_to })
      const page = await callApi({ url, path })
      const entries = table(ENTRY_HEADING, (page.entries as PrintedEntry[]).map(entryRow), 'No entry matches.')
      print({ json: page, text: pageText(entries, page) })
    })

const add = (print: Print) =>
  command('add', 'verdict suppression add ann@example.com', 'verdict suppression add abuse@example.com --global')
    .summary('Suppress an address')
    .description('Suppress an address: nothing is sent to it any more.')
    .argument('<address>')
    .addOption(tenantOption('Only for the sends of this tenant'))
    .addOption(new Option('--reason <reason>', 'Why it is suppressed; by default manual').choices(SUPPRESSION_REASONS))
    .addOption(globalOption().conflicts(['tenant', 'reason', 'url']))
    .addOption(urlOption())
    .action(async (address, { tenant: tenant_id, reason, global, url }) => {
      if (!global) {
        const entry = await callApi({ url, path: PATH, body: { email: address, tenant_id, reason } })
        return print({ json: entry, text: `${entry.email} is suppressed.` })
      }
      const email = readAddress(address)
      await withDatabase((db, clock) =>
        db.transaction(async (tx) => {
          const added = await addSuppressions({ db: tx, clock }, { accountId: EVERYBODY }, [email], 'manual')
          if (added > 0) await record(tx, { ...operator(EVERYBODY), action: 'suppression.add', target: email })
        }),
      )
      print({ json: { email, scope: 'global' }, text: `${email} is suppressed for all accounts.` })
    })

const remove = (print: Print) =>
  command(
    'remove',
    'verdict suppression remove ann@example.com',
    'verdict suppression remove ann@example.com --tenant shop-1',
  )
    .summary('Remove an address from the suppression list')
    .description('Remove an address from the suppression list: mail can be sent to it again.')
    .argument('<address>')
    .addOption(tenantOption('Only the entry of this tenant'))
    .addOption(globalOption().conflicts(['tenant', 'url']))
    .addOption(urlOption())
    .action(async (address, { tenant: tenant_id, global, url }) => {
      if (!global) {
        const path = `${PATH}/${encodeURIComponent(address)}${query({ tenant_id })}`
        return print({ json: await callApi({ url, method: 'DELETE', path }), text: `Removed ${address}.` })
      }
      const email = readAddress(address)
      const { encryptionKeys } = variables('encryptionKeys')
      const removed = await withDatabase(async (db) => {
        const spellings = await spellingsOf(db, createSealer(encryptionKeys), email)
        return db.transaction(async (tx) => {
          const entry = await removeSuppression(tx, { accountId: EVERYBODY }, spellings)
          if (entry) await record(tx, { ...operator(EVERYBODY), action: 'suppression.remove', target: email })
          return entry
        })
      })
      if (!removed) throw new CliError('not_found', `There is no global entry for ${email}.`)
      print({ json: {}, text: `Removed ${email} for all accounts.` })
    })

const undo = (print: Print) =>
  command('undo', 'verdict suppression undo imp_01jx5be5r0f3s8n1m6k4z9w2ct')
    .summary('Undo an import')
    .description(
      'Undo an import: remove what it added, and put back what it replaced. An entry stays that existed before the ' +
        'import, or that something else has added again since.',
    )
    .argument('<import_id>', 'The identifier that verdict import printed')
    .addOption(urlOption())
    .action(async (importId, { url }) => {
      const path = `${PATH}/imports/${encodeURIComponent(importId)}`
      const undone = await callApi({ url, method: 'DELETE', path })
      print({ json: undone, text: `${undone.removed} removed, ${undone.restored} put back as they were.` })
    })

function readAddress(text: string): string {
  const address = parseAddress(text)
  if (address) return matchingForm(address)
  throw new CliError('usage', `${text} is not an email address, such as ann@example.com.`)
}
