/**
 * All addresses of a name; empty when it has none. Undefined when DNS could not be asked, which proves nothing about
 * the name. Never rejects.
 */
export type Lookup = (name: string) => Promise<readonly string[] | undefined>

/**
 * Whether what DNS denied of a name since `askedMs`, on the clock of `performance.now()`, is a fact about it, because
 * the servers still find other domains. `ifUnproven`, by default true, where too few others are known.
 */
export type IsFact = (name: string, askedMs: number, ifUnproven?: boolean) => Promise<boolean>

interface AddressResolver {
  a(name: string): Promise<Addresses>
  aaaa(name: string): Promise<Addresses>
  isFact?: IsFact
}

type Addresses = { kind: 'records'; records: readonly string[] } | { kind: 'nxdomain' | 'nodata' | 'failure' }

/** Looks up IPv4 and IPv6, and returns what is answered: a failure for one family does not hide the other. */
export function createLookup(resolver: AddressResolver): Lookup {
  return async (name) => {
    const askedMs = performance.now()
    const answers = await Promise.all([resolver.a(name), resolver.aaaa(name)])
    const addresses = answers.flatMap((answer) => (answer.kind === 'records' ? answer.records : []))
    const isUnknown = addresses.length === 0 && answers.some(({ kind }) => kind === 'failure')
    // A failure is that of the name's own servers only when the servers that were asked find others.
    return isUnknown && !(await resolver.isFact?.(name, askedMs, false)) ? undefined : addresses
  }
}
