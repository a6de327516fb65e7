import { execFileSync, spawnSync } from 'node:child_process'
import { statSync } from 'node:fs'
import { Problem } from '../problem.ts'

/** The operating system's user that runs PostgreSQL, which refuses to run as root. */
export interface PostgresUser {
  /** Absent for the user of this process. */
  owner?: { uid: number; gid: number }
  /** The program, arguments and options that spawn this command line as this user. */
  command(commandLine: string[]): { file: string; args: string[]; options: { uid?: number; gid?: number; cwd: string } }
}

/**
 * Returns the user of this process. For root, returns the owner of the cluster, or `nobody` for a new cluster, so
 * that no user has to be created. Where that user lacks access, as in a checkout in /root, it keeps the capability to
 * ignore file permissions, so that no permissions have to be changed. Throws a Problem when that does not help.
 */
export function postgresUser(cluster: string, mustReach: string[]): PostgresUser {
  if (process.getuid?.() !== 0) return { command: ([file = '', ...args]) => ({ file, args, options: { cwd: '/' } }) }
  const { uid, gid } = statSync(cluster, { throwIfNoEntry: false }) ?? { uid: idOfNobody('-u'), gid: idOfNobody('-g') }
  const owner = { uid, gid }
  const plain: PostgresUser = {
    owner,
    command: ([file = '', ...args]) => ({ file, args, options: { ...owner, cwd: '/' } }),
  }
  const capable: PostgresUser = {
    owner,
    command: (commandLine) => ({
      file: 'setpriv',
      args: [...keepAccess(owner), ...commandLine],
      options: { cwd: '/' },
    }),
  }
  const user = [plain, capable].find((user) => mustReach.every((path) => reaches(user, path)))
  if (user) return user
  throw new Problem(
    `PostgreSQL cannot run as root, and user ${uid} cannot enter ${mustReach.join(' and ')}.\n` +
      'Start as an ordinary user, move the checkout to a folder that every user can enter (such as /opt), or set DATABASE_URL.',
  )
}

/** PostgreSQL finds its own program by access(2), which ignores the capability without the last argument. */
function keepAccess({ uid, gid }: { uid: number; gid: number }): string[] {
  const ids = [`--reuid=${uid}`, `--regid=${gid}`, '--clear-groups']
  return [...ids, '--inh-caps=+dac_override', '--ambient-caps=+dac_override', '--securebits=+no_setuid_fixup']
}

function reaches(user: PostgresUser, path: string): boolean {
  const { file, args, options } = user.command(['test', '-x', path])
  return spawnSync(file, args, options).status === 0
}

function idOfNobody(flag: '-u' | '-g'): number {
  return Number(execFileSync('id', [flag, 'nobody'], { encoding: 'utf8' }))
}
