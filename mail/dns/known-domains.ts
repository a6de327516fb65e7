import { createBoundedMap } from '../../net/bounded-map.ts'
import { shuffle } from '../../net/shuffle.ts'

/** Whether the servers find MX records of a domain now. */
type FindAgain = (domain: string) => Promise<boolean>

/** Domains go away. So many that were found before do not go away at the same time. */
const WITNESSES = 4
const MAX_ZONES = 1_000

/**
 * Domains whose MX records were found. What DNS denies is a fact about a domain only while these are still found: a
 * captive portal, a broken forwarder and a resolver of an internal network deny all names, or all outside of it. The
 * same holds for names whose TLSA records were asked for, and answered.
 */
export function createKnownDomains(findAgain: FindAgain) {
  /** The last one of each zone: one party has many names in its zone at no cost. */
  const domains = createBoundedMap<string>({ maxEntries: MAX_ZONES, charactersOf: (domain) => domain.length })
  /** By top level: when the question was asked that found one last. A resolver may know some top levels alone. */
  const foundMs = createBoundedMap<number>({ maxEntries: MAX_ZONES })
  let lastFoundMs = -Infinity
  const rounds = new Map<string, Promise<boolean>>()

  /** Domains of the same top level where enough are known, of other zones, in random order. */
  function witnessesFor(domain: string): string[] {
    const zones = [...domains.keys()].filter((zone) => zone !== zoneOf(domain))
    const near = zones.filter((zone) => topLevelOf(zone) === topLevelOf(domain))
    return shuffle(near.length >= WITNESSES ? near : zones)
      .slice(0, WITNESSES)
      .map((zone) => domains.get(zone)!)
  }

  async function ask(witnesses: string[]): Promise<boolean> {
    const answers = await Promise.all(witnesses.map(findAgain))
    if (!answers.includes(true)) return false
    for (const [i, witness] of witnesses.entries()) if (!answers[i]) domains.delete(zoneOf(witness))
    return true
  }

  return {
    /** Notes a domain that an earlier process found. */
    remember: (domain: string): void => domains.set(zoneOf(domain), domain),
    /** @param askedMs when the question was asked, on the clock of `performance.now()` */
    noteFound(domain: string, askedMs: number): void {
      domains.set(zoneOf(domain), domain)
      foundMs.set(topLevelOf(domain), askedMs)
      lastFoundMs = askedMs
    },
    /** Until when the servers are known to have found domains. */
    provenMs: (domain: string): number => foundMs.get(topLevelOf(domain)) ?? lastFoundMs,
    /** Whether what DNS denies of this domain is a fact about it. Undefined where too few others are known. */
    async isFact(domain: string, askedMs: number): Promise<boolean | undefined> {
      const topLevel = topLevelOf(domain)
      if ((foundMs.get(topLevel) ?? -Infinity) >= askedMs) return true
      const witnesses = witnessesFor(domain)
      if (witnesses.length < WITNESSES) return undefined
      const round = rounds.get(topLevel) ?? ask(witnesses).finally(() => rounds.delete(topLevel))
      rounds.set(topLevel, round)
      return round
    },
  }
}

const topLevelOf = (domain: string) => domain.slice(domain.lastIndexOf('.') + 1)

const zoneOf = (domain: string) => domain.split('.').slice(-2).join('.')
