/**
 * The last release, which runs beside this version during an upgrade. Name the new tag, its commit and its last
 * migration here after a release. The commit is named because a clone may lack tags.
 */
export const PREVIOUS_RELEASE = {
  tag: 'v0.1.0',
  commit: 'af350db12d541ff0c026ac1f2b17712a64d94f52',
  lastMigration: '0006_dashboard',
} as const
