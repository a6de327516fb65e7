import { createFairDoor } from '../../net/fair-doors.ts'
import { networkOf } from '../../net/network.ts'

interface Session {
  id: string
  remoteAddress: string
}

interface Visitor {
  network: string
  transactions: number
  strangers: number
  /** What arrived of a mail since this moment. */
  arrived: { bytes: number; sinceMs: number }
  /** It has sent a mail, and awaits our reply. */
  isWaiting: boolean
  sendAway(): void
  timer: NodeJS.Timeout
}

const MAX_TRANSACTIONS = 100
const MAX_STRANGERS = 10

/** A client that sends this many bytes in this time keeps its place. */
const PACE_BYTES = 64 * 1024
const PACE_MS = 10_000

/**
 * The most connections of a network (/24, /48) that keep their places by a mail. When it holds more, none does, so that
 * no network fills the port.
 */
const KEPT_OF_NETWORK = 2

export interface VisitorLimits {
  connections: number
  connectionsPerNetwork: number
  /** The longest life of a connection, whatever it does. */
  totalMs: number
}

/** Counts what each connected client does, and knows the limits. Every client is a stranger. */
export class Visitors {
  readonly #limits: VisitorLimits
  readonly #visitors = new Map<string, Visitor>()
  readonly #strangers = createFairDoor({ places: () => this.#limits.connections })

  constructor(limits: VisitorLimits) {
    this.#limits = limits
  }

  /** Returns true when the client has too many connections. Otherwise `sendAway` is called when its time is over. */
  enter({ id, remoteAddress }: Session, sendAway: () => void): boolean {
    const network = networkOf(remoteAddress)
    const others = [...this.#visitors.values()].filter((visitor) => visitor.network === network)
    if (others.length >= this.#limits.connectionsPerNetwork) return true
    const arrived = { bytes: 0, sinceMs: 0 }
    const timer = setTimeout(sendAway, this.#limits.totalMs)
    const visitor: Visitor = { network, transactions: 0, strangers: 0, arrived, isWaiting: false, sendAway, timer }
    const isBusy = (ofNetwork: number) => ofNetwork <= KEPT_OF_NETWORK && (visitor.isWaiting || isPaced(visitor))
    const isIn = this.#strangers.enter(id, { remoteAddress, sendAway, isBusy })
    if (isIn) this.#visitors.set(id, visitor)
    else clearTimeout(timer)
    return !isIn
  }

  /** Notes a complete command. */
  note({ id }: Session): void {
    this.#strangers.note(id)
  }

  /** Notes a piece of a mail. */
  noteContent({ id }: Session, bytes: number): void {
    const arrived = this.#visitors.get(id)?.arrived
    if (!arrived) return
    const now = performance.now()
    if (now - arrived.sinceMs > PACE_MS) Object.assign(arrived, { bytes: 0, sinceMs: now })
    arrived.bytes += bytes
  }

  /** Notes that a mail has arrived, or that it has its reply. */
  await({ id }: Session, isWaiting: boolean): void {
    const visitor = this.#visitors.get(id)
    if (visitor) visitor.isWaiting = isWaiting
  }

  /** Counts a mail; returns false when the connection has begun too many. */
  mayBeginMail({ id }: Session): boolean {
    const visitor = this.#visitors.get(id)
    return visitor !== undefined && ++visitor.transactions <= MAX_TRANSACTIONS
  }

  /** Counts a recipient that is not ours; returns true when the connection has named too many. */
  hasTooManyStrangers({ id }: Session): boolean {
    const visitor = this.#visitors.get(id)
    return visitor === undefined || ++visitor.strangers > MAX_STRANGERS
  }

  sendAway({ id }: Session): void {
    this.#visitors.get(id)?.sendAway()
  }

  leave({ id }: Session): void {
    clearTimeout(this.#visitors.get(id)?.timer)
    this.#strangers.leave(id)
    this.#visitors.delete(id)
  }
}

const isPaced = ({ arrived: { bytes, sinceMs } }: Visitor) =>
  bytes >= PACE_BYTES && performance.now() - sinceMs <= PACE_MS
