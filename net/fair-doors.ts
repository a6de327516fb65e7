import { widerNetworkOf } from './network.ts'

// Connections of strangers at a door. Silence costs nothing, so any number of places can be held by it. When the
// places are used up, a new stranger gets that of another one, and not of the one that speaks.

export interface Stranger {
  remoteAddress: string
  /** Closes the connection, with a reply. */
  sendAway(): void
  /** It awaits our reply, or sends content at a pace: it keeps its place. `ofNetwork` is what its network holds. */
  isBusy(ofNetwork: number): boolean
}

interface Guest extends Stranger {
  network: string
}

/** Networks whose connections differ by no more are treated alike. */
const ALIKE = 2

/**
 * When all places are taken, a newcomer gets that of the connection which has been longest without a complete command,
 * of the network that holds most.
 */
export function createFairDoor({ places }: { places(): number }) {
  /** The guest that has been silent longest comes first. */
  const guests = new Map<string, Guest>()
  const held = createHoldings()

  /** It has left, or is known now. */
  function leave(id: string): void {
    const guest = guests.get(id)
    if (guest && guests.delete(id)) held.add(guest.network, -1)
  }

  return {
    /** Returns false when no place is free and no connection can be sent away. */
    enter(id: string, stranger: Stranger): boolean {
      if (guests.size >= places()) {
        const silent = longestSilent(guests, held)
        if (!silent) return false
        const [idOfSilent, { sendAway }] = silent
        leave(idOfSilent)
        sendAway()
      }
      const network = widerNetworkOf(stranger.remoteAddress)
      guests.set(id, { ...stranger, network })
      held.add(network, 1)
      return true
    },
    /** Notes a complete command. */
    note(id: string): void {
      const guest = guests.get(id)
      if (guest && guests.delete(id)) guests.set(id, guest)
    },
    leave,
    size: () => guests.size,
  }
}

type Guests = ReadonlyMap<string, Guest>
type Holdings = ReturnType<typeof createHoldings>

function longestSilent(guests: Guests, held: Holdings): [id: string, guest: Guest] | undefined {
  const mayLeave = (least: number) => {
    for (const entry of guests) {
      const ofNetwork = held.of(entry[1].network)
      if (ofNetwork >= least && !entry[1].isBusy(ofNetwork)) return entry
    }
    return undefined
  }
  // Where all connections of the largest networks are busy, the next largest ones count.
  return mayLeave(held.most() - ALIKE) ?? mayLeave(mostOfIdle(guests, held) - ALIKE)
}

function mostOfIdle(guests: Guests, held: Holdings): number {
  let most = 0
  for (const guest of guests.values()) {
    const ofNetwork = held.of(guest.network)
    if (!guest.isBusy(ofNetwork)) most = Math.max(most, ofNetwork)
  }
  return most
}

/** Counts the connections of each network. */
function createHoldings() {
  const byNetwork = new Map<string, number>()
  /** How many networks hold as many connections as the index. */
  const networks: number[] = []
  const of = (network: string) => byNetwork.get(network) ?? 0

  return {
    of,
    add(network: string, change: 1 | -1): void {
      const [before, after] = [of(network), of(network) + change]
      if (after === 0) byNetwork.delete(network)
      else byNetwork.set(network, after)
      networks[before] = (networks[before] ?? 0) - 1
      networks[after] = (networks[after] ?? 0) + 1
      networks.length = networks.findLastIndex((count) => count > 0) + 1
    },
    /** The most connections of a network. */
    most: () => networks.length - 1,
  }
}
