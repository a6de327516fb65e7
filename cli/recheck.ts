import { record } from '../server/access/audit/record-change.ts'
import type { Database } from '../server/db/connect.ts'
import { publicId } from '../server/db/ids.ts'
import { run } from '../server/db/statement.ts'
import { type DoubtfulEntry, type Recheck, recheckSuppressions } from '../server/inbound/recheck.ts'
import { accountOption, chooseAccount } from './accounts.ts'
import { CliError, command, type Output, type Print } from './command.ts'
import { withDatabase } from './database.ts'
import { variables } from './environment.ts'
import { operator } from './operator.ts'
import { table } from './table.ts'

export const recheckCommand = (print: Print) =>
  command('recheck', 'verdict suppression recheck', 'verdict suppression recheck --since 2026-01-31 --apply')
    .summary('Judge the bounces that suppressed addresses again')
    .description(
      "Judge the bounces that suppressed addresses again, by today's rules, and list the entries that they would not " +
        'create. Works on the database, for the operator only.',
    )
    .addOption(accountOption('Only the entries of this account, by its id or name'))
    .option('--since <date>', 'Only entries created since, such as 2026-01-31')
    .option('--apply', 'Remove the listed entries')
    .action(async ({ account, since, apply = false }) => {
      const { smtpHeloName, smtpSourceAddresses } = variables('smtpHeloName', 'smtpSourceAddresses')
      const scope = { since: since === undefined ? undefined : readDate(since) }
      const result = await withDatabase(async (db) => {
        const accountId = account === undefined ? undefined : (await chooseAccount(db, account)).id
        const found = await recheckSuppressions(db, { ...scope, accountId }, [smtpHeloName, ...smtpSourceAddresses])
        return { ...found, removed: apply ? await removeEntries(db, found.doubtful) : 0 }
      })
      print(shownRecheck(result, apply))
    })

function shownRecheck({ judged, unknown, doubtful, removed }: Recheck & { removed: number }, apply: boolean): Output {
  const entries = doubtful.map(({ email, accountId, tenantId, createdAt, readAs, reply }) => ({
    email,
    account_id: publicId('acc', accountId),
    tenant_id: tenantId || undefined,
    created_at: createdAt.toISOString(),
    read_as: readAs,
    reply,
  }))
  const rows = entries.map(({ email, created_at, read_as, reply }) => [created_at, email, `about ${read_as}`, reply])
  const shown = table(['SINCE', 'ADDRESS', 'READ AS', 'REPLY'], rows, 'Every entry would hold today.')
  const counts = `${judged} judged, ${doubtful.length} would not hold today, ${unknown} kept because their reply is no longer stored`
  const end = apply ? `${removed} removed.` : doubtful.length > 0 ? 'Remove them with --apply.' : ''
  return { json: { judged, unknown, removed, entries }, text: `${shown}\n${counts}. ${end}`.trimEnd() }
}

function readDate(text: string): Date {
  const date = new Date(text)
  if (Number.isNaN(date.getTime())) throw new CliError('usage', `${text} is not a date, such as 2026-01-31.`)
  return date
}

/** Removes entries, each with its entry in the audit log. Returns how many were still there. */
async function removeEntries(db: Database, entries: readonly DoubtfulEntry[]): Promise<number> {
  let removed = 0
  for (const { id, accountId, email } of entries)
    await db.transaction(async (tx) => {
      const rows = await run(tx, 'delete from suppressions where id = $1 returning id', [id])
      if (rows.length === 0) return
      await record(tx, { ...operator(accountId), action: 'suppression.remove', target: email })
      removed++
    })
  return removed
}
