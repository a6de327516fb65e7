import { spawnSync } from 'node:child_process'

/** Runs Debian's promtool. Throws with its output when it fails. */
export function promtool(args: readonly string[], input?: string): void {
  const { status, stdout, stderr, error } = spawnSync('promtool', args, { input, encoding: 'utf8' })
  if (status !== 0) throw new Error(`promtool ${args.join(' ')}: ${error?.message ?? ''}${stdout}${stderr}`)
}
