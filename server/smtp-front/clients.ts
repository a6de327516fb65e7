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

export class Clients {
  readonly #limits: ClientLimits
  readonly #clients = new Map<string, Client>()
  readonly #strangers = createFairDoor({ places: () => this.#placesOfStrangers() })

  constructor(limits: ClientLimits) {
    this.#limits = limits
  }

  /** Returns false when there is no place. Otherwise `sendAway` is called when the client has to leave. */
  enter(id: string, remoteAddress: string, sendAway: (why: Away) => void): boolean {
    const network = networkOf(remoteAddress)
    const others = this.#count((client) => client.network === network && client.accountId === undefined)
    if (others >= this.#limits.strangersPerNetwork) return false
    const timer = setTimeout(sendAway, this.#limits.loginMs, 'late')
    const client: Client = { network, wrongKeys: 0, isWaiting: false, timer, sendAway }
    const isBusy = () => client.isWaiting
    const leaveRoom = () => {
      this.#forget(id)
      sendAway('crowded')
    }
    const isIn = this.#strangers.enter(id, { remoteAddress, sendAway: leaveRoom, isBusy })
    if (isIn) this.#clients.set(id, client)
    else clearTimeout(timer)
    return isIn
  }

  /** Notes a complete command. The lines of an AUTH are noted as `AUTH`. */
  note(id: string, verb: string): void {
    this.#strangers.note(id)
    const client = this.#clients.get(id)
    if (!client || client.accountId !== undefined) return
    if (verb === 'AUTH') client.authTimer ??= setTimeout(client.sendAway, this.#limits.authMs, 'late')
    else endAuth(client)
  }

  /** Notes whether the client awaits the reply to its key. */
  setWaiting(id: string, isWaiting: boolean): void {
    const client = this.#clients.get(id)
    if (!client) return
    endAuth(client)
    client.isWaiting = isWaiting
  }

  /** Returns false when the account has too many connections. */
  logIn(id: string, accountId: string): boolean {
    const client = this.#clients.get(id)
    const ofAccount = this.#count((other) => other.accountId === accountId)
    if (!client || ofAccount >= this.#limits.connectionsPerAccount) return false
    clearTimeout(client.timer)
    this.#strangers.leave(id)
    client.accountId = accountId
    return true
  }

  accountOf(id: string): string {
    return this.#clients.get(id)?.accountId ?? ''
  }

  /** Counts a wrong key; returns false when it was one too many. */
  mayTryAgain(id: string): boolean {
    const client = this.#clients.get(id)
    return client !== undefined && ++client.wrongKeys < this.#limits.wrongKeys
  }

  size(): number {
    return this.#clients.size
  }

  leave(id: string): void {
    this.#strangers.leave(id)
    this.#forget(id)
  }

  #placesOfStrangers(): number {
    const known = this.#clients.size - this.#strangers.size()
    return Math.min(this.#limits.connections / 2, this.#limits.connections - known)
  }

  #count(matches: (client: Client) => boolean): number {
    return [...this.#clients.values()].filter(matches).length
  }

  #forget(id: string): void {
    const client = this.#clients.get(id)
    if (!client) return
    clearTimeout(client.timer)
    endAuth(client)
    this.#clients.delete(id)
  }
}

function endAuth(client: Client): void {
  clearTimeout(client.authTimer)
  client.authTimer = undefined
}
