import { networkOf } from '../../net/network.ts'
import { createWindows, type Visit } from './windows.ts'

/** Counts requests without a valid credential by their address, 600 a minute. */
export function createStrangers(now?: () => number): (remoteAddress: string) => Visit {
  const visit = createWindows({ limit: 600, windowMs: 60_000, now })
  return (remoteAddress) => visit(networkOf(remoteAddress))
}
