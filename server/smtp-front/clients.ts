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
  /** The time for an AUTH that has begun. */
  authMs: number
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
  /** Ends an AUTH that has begun. */
  authTimer?: NodeJS.Timeout
  sendAway(why: Away): void
}

/** Why a client is sent away. */
export type Away = 'late' | 'crowded'

export function createClients(limits: ClientLimits) {
  const clients = new Map<string, Client>()
  const countOf = (matches: (client: Client) => boolean) => [...clients.values()].filter(matches).length
  const strangers = createFairDoor({
    places: () => Math.min(limits.connections / 2, limits.connections - (clients.size - strangers.size())),
  })

  function forget(id: string): void {
    const client = clients.get(id)
    if (!client) return
    clearTimeout(client.timer)
    endAuth(client)
    clients.delete(id)
  }

  return {
    /** Returns false when there is no place. Otherwise `sendAway` is called when the client has to leave. */
    enter(id: string, remoteAddress: string, sendAway: (why: Away) => void): boolean {
      const network = networkOf(remoteAddress)
      const others = countOf((client) => client.network === network && client.accountId === undefined)
      if (others >= limits.strangersPerNetwork) return false
      const timer = setTimeout(sendAway, limits.loginMs, 'late')
      const client: Client = { network, wrongKeys: 0, isWaiting: false, timer, sendAway }
      const isBusy = () => client.isWaiting
      const leaveRoom = () => {
        forget(id)
        sendAway('crowded')
      }
      const isIn = strangers.enter(id, { remoteAddress, sendAway: leaveRoom, isBusy })
      if (isIn) clients.set(id, client)
      else clearTimeout(timer)
      return isIn
    },
    /** Notes a complete command. The lines of an AUTH are noted as `AUTH`. */
    note(id: string, verb: string): void {
      strangers.note(id)
      const client = clients.get(id)
      if (!client || client.accountId !== undefined) return
      if (verb === 'AUTH') client.authTimer ??= setTimeout(client.sendAway, limits.authMs, 'late')
      else endAuth(client)
    },
    /** Notes whether the client awaits the reply to its key. */
    setWaiting(id: string, isWaiting: boolean): void {
      const client = clients.get(id)
      if (!client) return
      endAuth(client)
      client.isWaiting = isWaiting
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
      strangers.leave(id)
      forget(id)
    },
    size: () => clients.size,
  }
}

function endAuth(client: Client): void {
  clearTimeout(client.authTimer)
  client.authTimer = undefined
}
