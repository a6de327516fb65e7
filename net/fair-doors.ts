import { widerNetworkOf } from './network.ts'

// Connections of strangers at a listener. Silence costs nothing, so any number of places can be held by it. When the
// places are used up, a new stranger gets that of another one, and not of the one that speaks.

export interface Stranger {
  remoteAddress: string
  /** Closes the connection, with a reply. */
  sendAway(): void
  /** It awaits our reply, or sends content at a pace: it keeps its place. */
  isBusy(): boolean
}

export interface FairDoor {
  /** Returns false when no place is free and no connection can be sent away. */
  enter(id: string, stranger: Stranger): boolean
  /** Notes a complete command. */
  note(id: string): void
  /** It has left, or is known now. */
  leave(id: string): void
  size(): number
}

interface Guest extends Stranger {
  network: string
  /** When its last complete command came, on the clock of `performance.now()`. */
  spokeMs: number
}

/** Networks whose connections differ by no more are treated alike. */
const ALIKE = 2

/**
 * When all places are taken, a newcomer gets that of the connection which has been longest without a complete command,
 * of the network that holds most.
 */
export function createFairDoor({ places }: { places(): number }): FairDoor {
  const guests = new Map<string, Guest>()

  function longestSilent(): string | undefined {
    const all = [...guests].filter(([, guest]) => !guest.isBusy())
    const held = new Map<string, number>()
    for (const { network } of guests.values()) held.set(network, (held.get(network) ?? 0) + 1)
    const most = Math.max(0, ...all.map(([, { network }]) => held.get(network)!))
    let silent: [string, Guest] | undefined
    for (const one of all) {
      if (held.get(one[1].network)! < most - ALIKE) continue
      if (!silent || one[1].spokeMs < silent[1].spokeMs) silent = one
    }
    return silent?.[0]
  }

  return {
    enter(id, stranger) {
      if (guests.size >= places()) {
        const silent = longestSilent()
        if (silent === undefined) return false
        const { sendAway } = guests.get(silent)!
        guests.delete(silent)
        sendAway()
      }
      guests.set(id, { ...stranger, network: widerNetworkOf(stranger.remoteAddress), spokeMs: performance.now() })
      return true
    },
    note(id) {
      const guest = guests.get(id)
      if (guest) guest.spokeMs = performance.now()
    },
    leave: (id) => void guests.delete(id),
    size: () => guests.size,
  }
}
