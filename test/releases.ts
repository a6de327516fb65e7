import { execFileSync, spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/**
 * The last release, which runs beside this version during an upgrade. Name the new tag, its commit and its last
 * migration here after a release. The commit is named because a clone may lack tags.
 */
export const PREVIOUS_RELEASE = {
  tag: 'v0.2.0',
  commit: '7682aa9977cd4f711221a0c4f7c3e4200d7bf7ac',
  lastMigration: '0013_reports',
} as const

/**
 * What migrations since the last release take away, as test/db/expand-first.test.ts words it: because that release does
 * not use it any more, or because its processes are stopped first, as those of 0.2 are. A release empties the list.
 */
export const CONTRACTIONS: readonly string[] = [
  // The rows of 0.2 are filled in by the same migration.
  'requires a value: alter table open_dispatches alter column endpoint_id set not null',
  'requires a value: alter table open_recipients alter column account_id set not null',
  'requires a value: alter table dispatches alter column endpoint_id set not null',
  'requires a value: alter table recipients alter column account_id set not null',
  'requires a value: alter table attempts alter column account_id set not null',
  'adds a rule that stored or new rows may break: create unique index webhook_endpoints_first on webhook_endpoints using btree (account_id) where first',
  // Two addresses that were one before stay two: no stored row breaks the rule.
  'adds a rule that stored or new rows may break: create unique index feedback_report on feedback using btree (message_id,lower(recipient collate c),kind,is_member)',
  'adds a rule that stored or new rows may break: create unique index credentials_identity on credentials using btree (provider_id,provider_account_id)',
  // 0.2 writes the table in each readiness check: it is never ready on this database.
  'renames: alter table heartbeat rename to primary_heartbeat',
  'renames: alter table suppression_strikes rename to refusals',
]

/**
 * Columns of a migrated database that schema.ts no longer has, as test/db/schema.test.ts words them. A migration drops
 * them as soon as the last release does not use them any more.
 */
export const RETIRED_COLUMNS: readonly string[] = []

const ROOT = fileURLToPath(new URL('..', import.meta.url))

/** Writes files of the last release, by default all, into a folder. Throws when the clone does not have its commit. */
export function unpackPreviousFiles(folder: string, paths: string[] = []): void {
  const { tag, commit } = PREVIOUS_RELEASE
  if (spawnSync('git', ['cat-file', '-e', `${commit}^{commit}`], { cwd: ROOT }).status !== 0)
    throw new Error(`This clone has no commit ${commit} (${tag}). Run \`git fetch --unshallow --tags\` and try again.`)
  const archive = execFileSync('git', ['archive', commit, ...paths], { cwd: ROOT, maxBuffer: 2 ** 30 })
  execFileSync('tar', ['-x', '-C', folder], { input: archive })
}
