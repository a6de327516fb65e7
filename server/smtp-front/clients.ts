import { networkOf } from '../../net/network.ts'

// The limits of connections. A client without a key costs a key holder nothing: it has few connections, for a short
// time.

export interface ClientLimits {
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
  timer: NodeJS.Timeout
}

export function createClients(limits: ClientLimits) {
  const clients = new Map<string, Client>()
  const countOf = (matches: (client: Client) => boolean) => [...clients.values()].filter(matches).length
  return {
    /** Returns false when the network has too many. Otherwise `sendAway` is called when the time for a key is over. */
    enter(id: string, remoteAddress: string, sendAway: () => void): boolean {
      const network = networkOf(remoteAddress)
      const others = countOf((client) => client.network === network && client.accountId === undefined)
      if (others >= limits.strangersPerNetwork) return false
      clients.set(id, { network, wrongKeys: 0, timer: setTimeout(sendAway, limits.loginMs) })
      return true
    },
    /** Returns false when the account has too many connections. */
    logIn(id: string, accountId: string): boolean {
      const client = clients.get(id)
      if (!client || countOf((other) => other.accountId === accountId) >= limits.connectionsPerAccount) return false
      clearTimeout(client.timer)
      client.accountId = accountId
      return true
    },
    /** Counts a wrong key; returns false when it was one too many. */
    mayTryAgain(id: string): boolean {
      const client = clients.get(id)
      return client !== undefined && ++client.wrongKeys < limits.wrongKeys
    },
    leave(id: string): void {
      clearTimeout(clients.get(id)?.timer)
      clients.delete(id)
    },
    size: () => clients.size,
  }
}
