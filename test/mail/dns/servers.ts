import { afterAll } from 'vitest'
import { createResolver } from '../../../mail/dns/resolver.ts'
import { type DnsServerForTests, startDns } from '../../harness/dns.ts'

/** Starts DNS servers, each with a patient resolver; they close after the tests of the file. */
export function dnsOfFile() {
  const open: DnsServerForTests[] = []
  afterAll(async () => {
    for (const dns of open) await dns.close()
  })
  return async (zone: DnsServerForTests['zone'], { queryTimeoutMs = 5_000 } = {}) => {
    const dns = await startDns(zone)
    open.push(dns)
    const clock = { ms: 0 }
    const options = { queryTimeoutMs, now: () => clock.ms }
    return { dns, clock, options, resolver: createResolver({ servers: [dns.address], ...options }) }
  }
}
