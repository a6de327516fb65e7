import { createFairDoor } from '../../net/fair-doors.ts'
import { createKeyedAmounts } from '../../net/keyed-amounts.ts'
import { networkOf } from '../../net/network.ts'
import { fail } from '../errors.ts'
import { usedUp } from './limiter.ts'
import { createStrangers } from './strangers.ts'

/** The most streams open at a time. A client that watches the health of its connections has one for each connection. */
const STREAMS = { inAll: 250, byAddress: 50 }

export interface OpenCalls {
  /** Counts a call or a message of a stream. Throws `rate_limit_exceeded` over the limit of the address. */
  count(remoteAddress: string): void
  /**
   * Takes a slot for a stream. Returns the function that frees it; call it once. When all are taken, the oldest stream
   * of the network that holds most is ended. Throws `rate_limit_exceeded`.
   */
  openStream(remoteAddress: string, end: () => void): () => void
}

/**
 * Limits health and reflection, the calls that need no key, to 600 a minute for each address. They are counted apart
 * from calls with wrong keys, so a flood of wrong keys does not stop a load balancer's health checks, nor the reverse.
 */
export function createOpenCalls(): OpenCalls {
  const visit = createStrangers()
  const streams = createKeyedAmounts()
  const door = createFairDoor({ places: () => STREAMS.inAll })
  let nextId = 0

  return {
    count(remoteAddress) {
      const { over, limit, leftMs } = visit(remoteAddress)
      if (!over) return
      throw usedUp(`The ${limit} calls per minute of health and reflection are used up.`, Math.ceil(leftMs / 1_000))
    },
    openStream(remoteAddress, end) {
      const network = networkOf(remoteAddress)
      const own = streams.of(network)
      if (own >= STREAMS.byAddress) {
        const why = `This address has ${own} open streams of health and reflection. Close one, or wait for one to close.`
        throw fail('rate_limit_exceeded', why, { retryAfterSeconds: 1 })
      }
      const id = String(nextId++)
      door.enter(id, { remoteAddress, isBusy: () => false, sendAway: end })
      streams.add(network, 1)
      return () => {
        door.leave(id)
        streams.add(network, -1)
      }
    },
  }
}
