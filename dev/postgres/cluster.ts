import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chown, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { Problem } from '../problem.ts'
import type { Binaries } from './binaries.ts'
import type { PostgresUser } from './user.ts'

const run = promisify(execFile)

/** The superuser of the server. Each cluster has its own password for it. */
export const USER = 'verdict'

/** Creates the cluster, unless it exists. Throws a Problem for a cluster that this version cannot use. */
export async function prepareCluster(
  binaries: Binaries,
  user: PostgresUser,
  cluster: string,
  passwordFile: string,
): Promise<void> {
  const version = await readFile(join(cluster, 'PG_VERSION'), 'utf8').catch((error) => {
    if (error.code === 'ENOENT') return undefined
    throw new Problem(`${cluster} cannot be read (${error.code}): another user created it, perhaps root.`)
  })
  if (version === undefined) return initialise(binaries, user, cluster, passwordFile)
  const { stdout } = await run(binaries.postgres, ['--version'])
  const ours = /\d+/.exec(stdout)?.[0]
  if (version.trim() === ours) return
  throw new Problem(
    `${cluster} was created by PostgreSQL ${version.trim()}. This version includes PostgreSQL ${ours}, which cannot read it.\n` +
      `The cluster holds development data only: delete ${dirname(cluster)}, or set DATA_DIR to another folder.`,
  )
}

/** Creates the cluster beside its place and renames it, so that an interrupted initdb leaves no half cluster. */
async function initialise({ initdb }: Binaries, user: PostgresUser, cluster: string, passwordFile: string) {
  const unfinished = `${cluster}.new`
  await rm(unfinished, { recursive: true, force: true })
  await mkdir(unfinished, { mode: 0o700 })
  await writeFile(passwordFile, randomBytes(24).toString('base64url'), { mode: 0o600 })
  if (user.owner) for (const path of [unfinished, passwordFile]) await chown(path, user.owner.uid, user.owner.gid)
  const access = [`--username=${USER}`, `--pwfile=${passwordFile}`, '--auth=scram-sha-256']
  // Sorts by code point and knows Unicode's letters, independently of the machine's locales.
  const locale = ['--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8', '--encoding=UTF8']
  const { file, args, options } = user.command([initdb, `--pgdata=${unfinished}`, ...access, ...locale])
  await run(file, args, { ...options, env: { ...process.env, LC_ALL: 'C' } })
  await rename(unfinished, cluster)
}
