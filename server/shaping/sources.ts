import type { MailSources } from '../../mail/smtp/attempt.ts'
import type { AddressPool } from '../config/limits.ts'
import { fail } from '../errors.ts'
import type { AddressWarmUp } from './address-warm-up.ts'

interface SourcesParts {
  /** The current pools, by name. */
  pools(): Readonly<Record<string, AddressPool>>
  /** Whether this machine has an address. */
  isOwn(address: string): Promise<boolean>
  warmUp: AddressWarmUp
}

/**
 * The addresses of a pool that this machine has. Throws when the pool is not configured any more, or has none here: no
 * mail leaves from an address that its domain's SPF record does not name.
 */
export function createPoolSources({ pools, isOwn, warmUp }: SourcesParts): (name: string) => Promise<MailSources> {
  const known = new WeakMap<AddressPool, Promise<MailSources>>()

  async function read(pool: AddressPool): Promise<MailSources> {
    const owned = await Promise.all(pool.addresses.map(isOwn))
    const addresses = pool.addresses.filter((_, i) => owned[i])
    return pool.warmsUp ? { addresses, choose: warmUp.choose } : { addresses }
  }

  return async (name) => {
    const all = pools()
    const pool = Object.hasOwn(all, name) ? all[name] : undefined
    if (!pool) throw noAddress(`The pool ${name} of this domain is not configured`)
    const reading = known.get(pool) ?? read(pool)
    known.set(pool, reading)
    const sources = await reading
    if (sources.addresses.length === 0) throw noAddress(`This machine has no address of the pool ${name}`)
    return sources
  }
}

function noAddress(why: string) {
  return fail('transient_failure', `${why}. Nothing was sent; it is safe to retry.`)
}
