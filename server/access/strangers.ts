import { networksOf } from '../../net/network.ts'
import { createWindows, type Visit } from './windows.ts'

const windowMs = 60_000

/**
 * Counts requests without a valid credential: 600 a minute of an IPv4 address or a /64, and 6,000 of a /48, of which
 * one subscriber may have all.
 */
export function createStrangers(now?: () => number): (remoteAddress: string) => Visit {
  const visit = createWindows({ limit: 600, windowMs, now })
  const visitOfWidest = createWindows({ limit: 6_000, windowMs, now })
  return (remoteAddress) => {
    const networks = networksOf(remoteAddress)
    const ofWidest = visitOfWidest(networks[0])
    if (ofWidest.over) return ofWidest
    const one = visit(networks.at(-1)!)
    if (one.over) {
      ofWidest.forget()
      return one
    }
    const forget = () => {
      one.forget()
      ofWidest.forget()
    }
    return { ...one, forget }
  }
}
