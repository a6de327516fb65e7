import type { Host, Reply, ReplyReading } from './attempt.ts'
import { ruleFor } from './classify.ts'
import type { Failure } from './failure.ts'
import type { ReplyPhase } from './rules/rule.ts'

/** The most exchangers of a site that one delivery tries. */
export const MAX_HOSTS = 5

/** Holds the place of the exchangers that are looked up when the others are done with. */
export const FURTHER: Host = { name: '', preference: 0, addresses: [], port: 0 }

interface Try {
  /** The hosts that may be tried, that of the try among them. */
  hosts: Host[]
  host: Host
  /** The session had been used before. */
  isUsed: boolean
  /** No try has met garbage yet. */
  mayRepeat: boolean
}

const ABOUT_HOST = new Set<Failure['how']>(['closed', 'timeout', 'insecure', 'unreachable', 'other_family'])

/** The hosts that may be tried after a try that failed before the dot. */
export function hostsAfter({ phase, how, reply }: Failure, { hosts, host, isUsed, mayRepeat }: Try): Host[] {
  // The connection died while it was idle.
  if (isUsed && phase === 'mail' && how !== 'left') return sameHostFirst(hosts, host)
  if (how === 'slow') return [host]
  if (how === 'garbage') return mayRepeat ? [host] : []
  // What we could not judge of this host's TLS says nothing of the next one.
  if (how === 'local' && phase === 'starttls') return otherHosts(hosts, host)
  const isRefusedByHost = () => phase === 'greeting' || phase === 'ehlo' || isRefusedInTrouble(phase, reply, host)
  const mayOtherHostHelp = how === 'refused' ? isRefusedByHost() : ABOUT_HOST.has(how)
  return mayOtherHostHelp ? otherHosts(hosts, host) : []
}

function isRefusedInTrouble(phase: Failure['phase'], reply: Reply | undefined, { name }: Host): boolean {
  if (!reply) return false
  const { subject, name: row } = ruleFor({ phase: phase as ReplyPhase, reply, mx: name })
  return isServerTrouble(reply, { subject, row })
}

/**
 * Whether a 4xx reply is about the server itself, such as its storage or its end, so that another exchanger may take
 * the message (RFC 5321 5.1). Greylisting and rates are about the sender, who would be judged there as well.
 */
export function isServerTrouble(
  { code, enhanced = '' }: Reply,
  { subject, row }: Pick<ReplyReading, 'subject' | 'row'>,
): boolean {
  if (code >= 500 || subject !== 'sender' || row === 'greylisting' || row === 'rate') return false
  return row === 'server trouble' || /^4\.[34]\./.test(enhanced) || (code === 421 && !enhanced.startsWith('4.7.'))
}

/**
 * Whether a reply says that we send too fast: the site gets fewer messages for a while. A rate of the recipient's
 * (4.2.1, as of Gmail) is none of ours.
 */
export const refusesRate = (phase: ReplyPhase, reply: Reply, { name }: Host): boolean =>
  (reply.code === 421 || reply.enhanced?.startsWith('4.7.') === true) &&
  ruleFor({ phase, reply, mx: name }).name === 'rate'

/** The hosts that are left when this one is done with. */
export function otherHosts(hosts: Host[], host: Host): Host[] {
  return hosts.filter(({ name }) => name !== host.name)
}

/** After a session that has taken all that it takes, another one with the same host comes first. */
export function sameHostFirst(hosts: Host[], host: Host): Host[] {
  return [host, ...otherHosts(hosts, host)]
}

/** The reply by which the site refused a connection because it has enough of them. */
export function placeRefusal({ phase, reply }: Failure, { name }: Host): Reply | undefined {
  if (phase !== 'greeting' || !reply) return undefined
  const { code, enhanced = '' } = reply
  const isForNumber = code === 421 || enhanced.startsWith('4.7.')
  return isForNumber || ruleFor({ phase, reply, mx: name }).subject === 'session' ? reply : undefined
}
