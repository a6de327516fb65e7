import { type DnsServer, queryDns } from '../../mail/dns/dns-query.ts'
import { parseServer, RCODES } from '../../mail/dns/resolver.ts'
import type { CheckFinding, DoctorCheck } from './check.ts'
import { failure, inProduction, ok, skipped, worstOf } from './check.ts'

const QUERY_MS = 2_000
/** A signed zone that every resolver asks its own servers for. */
const SIGNED = 'org'

/** Whether the resolvers validate DNSSEC and say so. Otherwise no TLSA record is ever used. */
export const dnssec: DoctorCheck = {
  name: 'dnssec',
  about: 'with `DNSSEC=trust`, every DNS resolver validates',
  reads: ['DNS_SERVERS', 'DNSSEC', 'NODE_ENV'],
  run: inProduction(async ({ config: { dnssec, dnsServers = [] } }) => {
    if (dnssec === 'off') return skipped('DNSSEC is off: no TLSA record is looked up')
    return worstOf(await Promise.all(dnsServers.map(parseServer).map(judgeResolver)))
  }),
}

async function judgeResolver(server: DnsServer): Promise<CheckFinding> {
  const shown = `${server.address}${server.port === 53 ? '' : `:${server.port}`}`
  const response = await queryDns(server, SIGNED, 'NS', QUERY_MS, { dnssec: true })
  const trouble = 'failure' in response ? response.failure : RCODES[response.rcode]
  if (trouble) return failure(`${shown} does not answer for ${SIGNED} (${trouble})`, 'Look at the log of the resolver.')
  if (!('failure' in response) && response.isAuthenticated) return ok(`${shown} validates`)
  return failure(
    `${shown} does not validate: no TLSA record is used`,
    'Turn validation on in the resolver, such as auto-trust-anchor-file in unbound, or set DNSSEC=off.',
  )
}
