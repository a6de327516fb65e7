import type { Host } from './attempt.ts'
import { ruleFor } from './classify.ts'
import type { Failure } from './failure.ts'

export const MAX_HOSTS = 2

interface Try {
  /** The hosts that may be tried, that of the try among them. */
  hosts: Host[]
  host: Host
  /** The session had been used before. */
  isUsed: boolean
  /** No try has met garbage yet. */
  mayRepeat: boolean
}

/** The hosts that may be tried after a try that failed before the dot. */
export function hostsAfter({ phase, how }: Failure, { hosts, host, isUsed, mayRepeat }: Try): Host[] {
  // The connection died while it was idle.
  if (isUsed && phase === 'mail' && how !== 'left') return sameHostFirst(hosts, host)
  if (how === 'slow') return [host]
  if (how === 'garbage') return mayRepeat ? [host] : []
  const mayOtherHostHelp =
    how === 'refused' ? phase === 'greeting' || phase === 'ehlo' : ['closed', 'timeout', 'insecure'].includes(how)
  return mayOtherHostHelp ? hosts.filter(({ name }) => name !== host.name).slice(0, MAX_HOSTS - 1) : []
}

/** After a session that has taken all that it takes, another one with the same host comes first. */
export function sameHostFirst(hosts: Host[], host: Host): Host[] {
  return [host, ...hosts.filter(({ name }) => name !== host.name)].slice(0, MAX_HOSTS)
}

/** Whether the site refused a connection because it has enough of them. */
export function isRefusedPlace({ phase, how, reply }: Failure, { name }: Host): boolean {
  if (phase !== 'greeting' || how !== 'refused' || !reply) return false
  const { code, enhanced = '' } = reply
  return code === 421 || /^4\.7\./.test(enhanced) || ruleFor({ phase, reply, mx: name }).subject === 'session'
}
