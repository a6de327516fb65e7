import type { Resolver } from '../../mail/dns/resolver.ts'
import type { Guard } from '../../net/guard.ts'
import { createVerifier, type Verifier } from '../domains/dns-verifier.ts'
import { type SendingHosts, sendingHosts } from '../domains/records.ts'
import type { Program } from './program.ts'

/** What domain checks compare DNS with, and the verifier that asks it. The API and the worker both check domains. */
export function domainChecks(
  { config, limits, log }: Program,
  mayDial: Guard,
  { isFact }: Pick<Resolver, 'isFact'>,
): { hosts: SendingHosts; verifier: Verifier } {
  const hosts = { ...sendingHosts(config), limits }
  if (hosts.sourceDetail) log.warn(`SPF names the address that mail leaves from: ${hosts.sourceDetail}`)
  return { hosts, verifier: createVerifier({ servers: config.dnsServers, mayDial, isFact, hosts }) }
}
