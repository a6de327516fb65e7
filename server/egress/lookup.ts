/** All addresses of a name; none when there are none, or nobody could say. Never rejects. */
export type Lookup = (name: string) => Promise<readonly string[]>

interface AddressResolver {
  a(name: string): Promise<Addresses>
  aaaa(name: string): Promise<Addresses>
}

type Addresses = { kind: 'records'; records: readonly string[] } | { kind: 'nxdomain' | 'nodata' | 'failure' }

/** IPv4 and IPv6, whichever of the two is answered: a broken server for one of them keeps nothing back. */
export function lookupWith(resolver: AddressResolver): Lookup {
  return async (name) => {
    const answers = await Promise.all([resolver.a(name), resolver.aaaa(name)])
    return answers.flatMap((answer) => (answer.kind === 'records' ? answer.records : []))
  }
}
