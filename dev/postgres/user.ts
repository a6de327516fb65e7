import { execFileSync, spawnSync } from 'node:child_process'
import { statSync } from 'node:fs'
import { Problem } from '../problem.ts'

/** Who runs PostgreSQL, which refuses to run as root. */
export interface PostgresUser {
  /** Absent: whoever we are. */
  owner?: { uid: number; gid: number }
  /** The command, with what has to stand before it for this user, and the options to spawn it with. */
  command(words: string[]): { file: string; args: string[]; options: { uid?: number; gid?: number; cwd: string } }
}

/**
 * For root, the owner of the cluster, at first `nobody`: no user has to be made. Where `nobody` may not go (a checkout in /root,
 * say) it keeps the one capability to pass by file permissions, so that nobody's modes have to be changed.
 */
export function postgresUser(cluster: string, mustReach: string[]): PostgresUser {
  if (process.getuid?.() !== 0) return { command: ([file, ...args]) => ({ file: file!, args, options: { cwd: '/' } }) }
  const { uid, gid } = statSync(cluster, { throwIfNoEntry: false }) ?? { uid: idOfNobody('-u'), gid: idOfNobody('-g') }
  const owner = { uid, gid }
  const plain: PostgresUser = {
    owner,
    command: ([file, ...args]) => ({ file: file!, args, options: { ...owner, cwd: '/' } }),
  }
  const capable: PostgresUser = {
    owner,
    command: (words) => ({ file: 'setpriv', args: [...keepAccess(owner), ...words], options: { cwd: '/' } }),
  }
  const user = [plain, capable].find((user) => mustReach.every((path) => reaches(user, path)))
  if (user) return user
  throw new Problem(
    `PostgreSQL cannot run as root, and user ${uid} cannot enter ${mustReach.join(' and ')}.\n` +
      'Start as an ordinary user, move the checkout to a folder open to everybody (such as /opt), or set DATABASE_URL.',
  )
}

/** Without the last word access(2), by which PostgreSQL looks for its own program, would not count the capability. */
function keepAccess({ uid, gid }: { uid: number; gid: number }): string[] {
  const who = [`--reuid=${uid}`, `--regid=${gid}`, '--clear-groups']
  return [...who, '--inh-caps=+dac_override', '--ambient-caps=+dac_override', '--securebits=+no_setuid_fixup']
}

function reaches(user: PostgresUser, path: string): boolean {
  const { file, args, options } = user.command(['test', '-x', path])
  return spawnSync(file, args, options).status === 0
}

function idOfNobody(flag: '-u' | '-g'): number {
  return Number(execFileSync('id', [flag, 'nobody'], { encoding: 'utf8' }))
}
