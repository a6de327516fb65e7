import { createHash } from 'node:crypto'
import type { SlotRequest } from '../../net/fair-slots.ts'
import type { TlsaRecord } from '../dns/dns-message.ts'
import type { WatchedResolver } from '../dns/resolver.ts'
import { DANE_TA, usableRecords } from './tlsa.ts'

/** What the TLSA records of a mail exchanger demand of its TLS (RFC 7672). */
export interface DanePolicy {
  /** The usable records. Without one, TLS is mandatory and its certificate is not checked (RFC 7672 2.2). */
  records: TlsaRecord[]
  /** The TLSA base domain: the name for SNI. */
  baseDomain: string
  /** The names of which a certificate under a trust anchor must have one (RFC 7672 3.2.2). */
  names: string[]
}

/**
 * `unknown`: the records could not be looked up, so the host may not be used (RFC 7672 2.1.2). SERVFAIL may mean a
 * forgery or a broken zone; any other failure is ours.
 */
export type DaneFinding =
  | { kind: 'none' }
  | { kind: 'policy'; policy: DanePolicy }
  | { kind: 'unknown'; cause: string; isOurs: boolean }

/** An exchanger whose MX and address answers are secure. */
export interface SecureHost {
  name: string
  /** The name that owns its addresses, if `name` is an alias. */
  canonicalName?: string
  /** The recipient domain, and the name that its MX records belong to. */
  nextHop: readonly string[]
}

/** Looks up what DANE demands of an exchanger. Never rejects. */
export function createDaneLookUp(resolver: Pick<WatchedResolver, 'tlsa'>, port: number) {
  return async function daneOf(host: SecureHost, request?: SlotRequest): Promise<DaneFinding> {
    // An alias is looked up under the name that it leads to, and then under its own (RFC 7672 2.2.3).
    const baseDomains = [host.canonicalName, host.name].filter((name) => name !== undefined)
    for (const baseDomain of baseDomains) {
      const answer = await resolver.tlsa(`_${port}._tcp.${baseDomain}`, request)
      if (answer.kind === 'failure') return { kind: 'unknown', cause: answer.cause, isOurs: !answer.isServfail }
      if (answer.kind !== 'records' || !answer.secure) continue
      const names = [...new Set([baseDomain, ...host.nextHop])]
      return { kind: 'policy', policy: { records: usableRecords(answer.records), baseDomain, names } }
    }
    return { kind: 'none' }
  }
}

/**
 * What DANE adds to the key of a site: connections are shared only under the same demands on each of its hosts. The
 * names count where a trust anchor makes them count, so domains that share exchangers usually share connections.
 */
export function daneKey(findings: readonly { name: string; finding: DaneFinding }[]): string {
  const demands = findings.flatMap(({ name, finding }) => {
    if (finding.kind === 'none') return []
    if (finding.kind === 'unknown') return [[name, 'unknown']]
    const { records, baseDomain, names } = finding.policy
    const lines = records.map(({ usage, selector, matching, data }) => `${usage} ${selector} ${matching} ${data}`)
    return [[name, baseDomain, ...lines.sort(), ...(records.some(({ usage }) => usage === DANE_TA) ? names : [])]]
  })
  if (demands.length === 0) return ''
  return ` by DANE ${createHash('sha256').update(JSON.stringify(demands.sort())).digest('hex').slice(0, 32)}`
}
