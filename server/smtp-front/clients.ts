import { createFairDoor } from '../../net/fair-doors.ts'
import { networkOf } from '../../net/network.ts'

// The limits of connections. A client without a key costs a key holder nothing: it has few connections, for a short
// time, and half of all at most. When these are taken, one that is silent makes room.

export interface ClientLimits {
  connections: number
  /** Connections of one network that have no key yet. */
  strangersPerNetwork: number
  connectionsPerAccount: number
  /** The time to give a key. */
  loginMs: number
  /** Wrong keys on one connection. */
  wrongKeys: number
}

interface Client {
  network: string
  accountId?: string
  wrongKeys: number
  /** It awaits the reply to its key. */
  isWaiting: boolean
  timer: NodeJS.Timeout
}

/** Why a client is sent away. */
export type Away = 'late' | 'crowded'

export function createClients(limits: ClientLimits) {
  const clients = new Map<string, Client>()
  const countOf = (matches: (client: Client) => boolean) => [...clients.values()].filter(matches).length
  const strangers = createFairDoor({
    places: () => Math.min(limits.connections / 2, limits.connections - (clients.size - strangers.size())),
  })
  return {
    /** Returns false when there is no place. Otherwise `sendAway` is called when the client has to leave. */
    enter(id: string, remoteAddress: string, sendAway: (why: Away) => void): boolean {
      const network = networkOf(remoteAddress)
      const others = countOf((client) => client.network === network && client.accountId === undefined)
      if (others >= limits.strangersPerNetwork) return false
      const timer = setTimeout(sendAway, limits.loginMs, 'late')
      const client: Client = { network, wrongKeys: 0, isWaiting: false, timer }
      const isBusy = () => client.isWaiting
      const leaveRoom = () => {
        clearTimeout(timer)
        clients.delete(id)
        sendAway('crowded')
      }
      const isIn = strangers.enter(id, { remoteAddress, sendAway: leaveRoom, isBusy })
      if (isIn) clients.set(id, client)
      else clearTimeout(timer)
      return isIn
    },
    /** Notes that the client has spoken, and whether it awaits the reply to its key. */
    note(id: string, isWaiting: boolean): void {
      strangers.note(id)
      const client = clients.get(id)
      if (client) client.isWaiting = isWaiting
    },
    /** Returns false when the account has too many connections. */
    logIn(id: string, accountId: string): boolean {
      const client = clients.get(id)
      if (!client || countOf((other) => other.accountId === accountId) >= limits.connectionsPerAccount) return false
      clearTimeout(client.timer)
      strangers.leave(id)
      client.accountId = accountId
      return true
    },
    accountOf: (id: string) => clients.get(id)?.accountId ?? '',
    /** Counts a wrong key; returns false when it was one too many. */
    mayTryAgain(id: string): boolean {
      const client = clients.get(id)
      return client !== undefined && ++client.wrongKeys < limits.wrongKeys
    },
    leave(id: string): void {
      clearTimeout(clients.get(id)?.timer)
      strangers.leave(id)
      clients.delete(id)
    },
    size: () => clients.size,
  }
}
