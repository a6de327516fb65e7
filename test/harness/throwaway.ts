import postgres from 'postgres'

/**
 * Turns `fsync` off in a server whose files are discarded after the run. Otherwise every test waits for the disk when
 * another one drops its database, because PostgreSQL then makes a checkpoint.
 */
export async function turnFsyncOff(url: string): Promise<void> {
  const admin = postgres(url, { max: 1 })
  for (const setting of ['fsync', 'full_page_writes']) await admin.unsafe(`alter system set ${setting} = off`)
  await admin`select pg_reload_conf()`
  await admin.end()
}
