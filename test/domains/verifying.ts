import { generateKeyPairSync } from 'node:crypto'
import type { Answer } from 'dns-packet'
import { createResolver } from '../../mail/dns/resolver.ts'
import { createVerifier } from '../../server/domains/dns-verifier.ts'
import type { DkimKeyRow, Domain } from '../../server/domains/domains.ts'
import { type PublishedRecord, recordsOf, type SendingHosts, stringsOf } from '../../server/domains/records.ts'
import { cname, type DnsServerForTests, mx, startDns, txt } from '../harness/dns.ts'

// Domains of an imaginary account, and a DNS in this process with the records that they publish.

export const HOSTS: SendingHosts = {
  sourceAddresses: ['192.0.2.25', '2001:db8::25'],
  returnPathHost: undefined,
  bounceHost: 'mail.operator.example',
}

/** Generated once, because keys are slow to generate. */
export const RSA = [newKey('v20201118-0a0a0a0a'), newKey('v20201119-0b0b0b0b')] as const

function newKey(selector: string, modulusLength = 2048): DkimKeyRow {
  const { publicKey } = generateKeyPairSync('rsa', { modulusLength })
  return keyOf(selector, 'rsa', publicKey.export({ format: 'der', type: 'spki' }))
}

export function newEd25519(selector: string): DkimKeyRow {
  return keyOf(selector, 'ed25519', generateKeyPairSync('ed25519').publicKey.export({ format: 'der', type: 'spki' }))
}

export function publicKeyOf(modulusLength: number): Buffer {
  return newKey('', modulusLength).publicKey
}

function keyOf(selector: string, algorithm: 'rsa' | 'ed25519', publicKey: Buffer): DkimKeyRow {
  const at = new Date('2020-11-18T12:00:00Z')
  const privateKey = Buffer.alloc(0)
  return {
    id: selector,
    domainId: '',
    selector,
    algorithm,
    publicKey,
    privateKey,
    state: 'active',
    createdAt: at,
    retiresAt: null,
  }
}

export function domainOf(name: string, dkimKeys: DkimKeyRow[] = [RSA[0]]): Domain {
  return { name, dkimKeys } as Domain
}

/** The record as its owner would publish it. */
export function published({ type, host, value }: PublishedRecord): Answer {
  if (type === 'TXT') return txt(host, stringsOf(value))
  return type === 'CNAME' ? cname(host, value) : mx(host, 10, value.split(' ')[1]!)
}

export type Zone = DnsServerForTests['zone']

/** The zone with every record that a domain must publish. */
export function zoneOf(domain: Domain, hosts = HOSTS): Zone {
  const zone: Zone = {}
  for (const record of recordsOf(domain, hosts)) {
    const types = record.type === 'CNAME' ? ['TXT', 'MX', 'CNAME'] : [record.type]
    for (const type of types) zone[`${type} ${record.host}`] = [published(record)]
  }
  return zone
}

/** A verifier whose resolver has this zone, with time enough for a busy machine. */
export async function startVerifier(zone: Zone, { hosts = HOSTS, queryMs = 20_000, totalMs = 60_000 } = {}) {
  const dns = await startDns(zone)
  const servers = [dns.address]
  const resolver = createResolver({ servers, queryTimeoutMs: queryMs })
  const { isFact } = resolver
  const verifier = createVerifier({ servers, mayDial: () => false, isFact, hosts, queryMs, totalMs })
  return { dns, resolver, check: verifier.check }
}
