/** All addresses of a name; empty when it has none, or DNS did not answer. Never rejects. */
export type Lookup = (name: string) => Promise<readonly string[]>

interface AddressResolver {
  a(name: string): Promise<Addresses>
  aaaa(name: string): Promise<Addresses>
}

type Addresses = { kind: 'records'; records: readonly string[] } | { kind: 'nxdomain' | 'nodata' | 'failure' }

/** Looks up IPv4 and IPv6, and returns what is answered: a failure for one family does not hide the other. */
export function createLookup(resolver: AddressResolver): Lookup {
  return async (name) => {
    const answers = await Promise.all([resolver.a(name), resolver.aaaa(name)])
    return answers.flatMap((answer) => (answer.kind === 'records' ? answer.records : []))
  }
}
