import { stat } from 'node:fs/promises'
import type { Cluster } from './cluster.ts'

/**
 * The age of the newest back-up in seconds: that of `file`, which each back-up writes, or else that of the newest file
 * of WAL in the archive. undefined when neither is known.
 */
export async function backupAge(
  file: string | undefined,
  { archivedSecondsAgo }: Pick<Cluster, 'archivedSecondsAgo'>,
): Promise<number | undefined> {
  if (file === undefined) return archivedSecondsAgo ?? undefined
  const written = await stat(file).catch(() => undefined)
  return written && Math.max(0, Date.now() - written.mtimeMs) / 1_000
}
