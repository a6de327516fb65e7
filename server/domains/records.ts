import { isIPv6 } from 'node:net'

/** A DNS record that the owner of a domain publishes. */
export interface DnsRecord {
  record: 'DKIM' | 'SPF' | 'DMARC'
  type: 'TXT'
  /** The full name, without the last dot. */
  host: string
  value: string
}

export interface Publisher {
  name: string
  /** The addresses mail is sent from. */
  sourceAddresses: readonly string[]
  returnPathHost: string | undefined
  dkimKeys: readonly { selector: string; algorithm: 'rsa' | 'ed25519'; publicKey: Uint8Array }[]
}

/**
 * What a domain publishes: its DKIM keys (RFC 6376 3.6.1), SPF for the return path (RFC 7208), and a DMARC policy to start with
 * (RFC 7489). SPF is left out while no source address is known.
 */
export function recordsOf({ name, sourceAddresses, returnPathHost, dkimKeys }: Publisher): DnsRecord[] {
  const dkim = dkimKeys.map(({ selector, algorithm, publicKey }): DnsRecord => {
    return {
      record: 'DKIM',
      type: 'TXT',
      host: `${selector}._domainkey.${name}`,
      value: dkimValue(algorithm, publicKey),
    }
  })
  const sources = sourceAddresses.map((address) => `${isIPv6(address) ? 'ip6' : 'ip4'}:${address}`)
  const spf: DnsRecord = {
    record: 'SPF',
    type: 'TXT',
    host: returnPathHost ?? `rp.${name}`,
    value: ['v=spf1', ...sources, '-all'].join(' '),
  }
  const dmarc: DnsRecord = { record: 'DMARC', type: 'TXT', host: `_dmarc.${name}`, value: 'v=DMARC1; p=none' }
  return [...dkim, ...(sources.length > 0 ? [spf] : []), dmarc]
}

/** One string of a TXT record holds 255 bytes (RFC 1035 3.3.14): what is longer is written as several. */
export function inStrings(value: string): string {
  return (value.match(/.{1,255}/g) ?? []).map((part) => `"${part}"`).join(' ')
}

/** RFC 8463 4: an Ed25519 key is published bare, without the SPKI around its last 32 bytes. */
function dkimValue(algorithm: 'rsa' | 'ed25519', publicKey: Uint8Array): string {
  const bytes = algorithm === 'rsa' ? publicKey : publicKey.slice(-32)
  return `v=DKIM1; k=${algorithm}; p=${Buffer.from(bytes).toString('base64')}`
}
