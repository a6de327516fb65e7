import { Option } from '@commander-js/extra-typings'
import { EVIDENCE_KINDS } from './choices.ts'
import { command, type Print } from './command.ts'
import { callApi, urlOption } from './service.ts'
import { ENTRY_HEADING, entryRow, type PrintedEntry } from './suppression-entry.ts'
import { table } from './table.ts'

export const liftCommand = (print: Print) =>
  command(
    'lift',
    'verdict suppression lift --from 2026-12-14T22:00:00Z --to 2026-12-15T05:00:00Z --domain gmail.com --dry-run',
    'verdict suppression lift --from 2026-12-14 --to 2026-12-16 --kind unknown',
  )
    .summary('Remove the entries that bounces made in a time')
    .description(
      'Remove the entries that bounces made in a time, such as the bad hour of a mailbox provider, and what counted ' +
        'against their addresses. Entries of complaints and imports, and those added by hand, stay.',
    )
    .requiredOption('--from <time>', 'Entries created from this time on, such as 2026-01-31 or 2026-01-31T12:00:00Z')
    .requiredOption('--to <time>', 'Entries created before this time')
    .option('--domain <domain>', 'Only entries of addresses of this domain')
    .addOption(new Option('--kind <kind>', 'Only entries of this kind').choices(LIFTED_KINDS))
    .option('--tenant <tenant_id>', 'Only entries of this tenant; by default those of the account and all its tenants')
    .option('--dry-run', 'Only show what would be removed')
    .addOption(urlOption())
    .action(async ({ from, to, domain, kind, tenant: tenant_id, dryRun: dry_run = false, url }) => {
      const body = { created_from: from, created_to: to, domain, kind, tenant_id, dry_run }
      const lifted = await callApi({ url, path: '/api/v1/suppression/lift', body })
      const entries = lifted.entries as PrintedEntry[]
      const shown = table(ENTRY_HEADING, entries.map(entryRow), 'No entry matches.')
      const more = (lifted.lifted as number) - entries.length
      const end = dry_run ? 'would be removed. Remove them without --dry-run.' : 'removed.'
      const rest = more > 0 ? `\nand ${more} more` : ''
      print({ json: lifted, text: entries.length === 0 ? shown : `${shown}${rest}\n${lifted.lifted} ${end}` })
    })

const LIFTED_KINDS = EVIDENCE_KINDS.filter((kind) => kind !== 'complaint')
