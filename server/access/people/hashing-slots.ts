import type { Release } from '../../../net/fair-slots.ts'
import { networksOf } from '../../../net/network.ts'
import { createFairQueue } from './fair-queue.ts'

interface HashingSlots {
  /** Waits for a slot. Resolves to undefined after `waitMs`, or when too many wait and its network has the most. */
  acquire(remoteAddress: string): Promise<Release | undefined>
}

/**
 * Slots for hashing, shared fairly by the network of the caller: of IPv6 by /48, in it by /56, and in that by /64. When
 * too many wait, the newest of the network with the most is refused, so that no network takes the places of others.
 */
export function createHashingSlots(options: { slots: number; maxWaiting: number; waitMs: number }): HashingSlots {
  const { slots, maxWaiting, waitMs } = options
  const queue = createFairQueue<(release: Release | undefined) => void>()
  let free = slots

  function release(): void {
    const next = queue.take()
    if (next) next(release)
    else free++
  }

  return {
    async acquire(remoteAddress) {
      if (free > 0) {
        free--
        return release
      }
      const networks = networksOf(remoteAddress)
      return new Promise((resolve) => {
        const settle = (result: Release | undefined) => {
          clearTimeout(timer)
          resolve(result)
        }
        const timer = setTimeout(() => {
          queue.remove(networks, settle)
          resolve(undefined)
        }, waitMs)
        queue.add(networks, settle)
        if (queue.size() > maxWaiting) queue.takeFromLargest()?.(undefined)
      })
    },
  }
}
