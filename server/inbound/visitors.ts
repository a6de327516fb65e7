import { networkOf } from '../../net/network.ts'

interface Session {
  id: string
  remoteAddress: string
}

interface Visitor {
  network: string
  transactions: number
  strangers: number
  sendAway(): void
  timer: NodeJS.Timeout
}

const MAX_TRANSACTIONS = 100
const MAX_STRANGERS = 10

/** Counts what each connected client does, and knows the limits. */
export function createVisitors({ connectionsPerNetwork, totalMs }: { connectionsPerNetwork: number; totalMs: number }) {
  const visitors = new Map<string, Visitor>()
  return {
    /** Returns true when the client has too many connections. Otherwise `sendAway` is called when its time is over. */
    enter({ id, remoteAddress }: Session, sendAway: () => void): boolean {
      const network = networkOf(remoteAddress)
      const others = [...visitors.values()].filter((visitor) => visitor.network === network)
      if (others.length >= connectionsPerNetwork) return true
      visitors.set(id, { network, transactions: 0, strangers: 0, sendAway, timer: setTimeout(sendAway, totalMs) })
      return false
    },
    /** Counts a mail; returns false when the connection has begun too many. */
    mayBeginMail({ id }: Session): boolean {
      const visitor = visitors.get(id)
      return visitor !== undefined && ++visitor.transactions <= MAX_TRANSACTIONS
    },
    /** Counts a recipient that is not ours; returns true when the connection has named too many. */
    hasTooManyStrangers({ id }: Session): boolean {
      const visitor = visitors.get(id)
      return visitor === undefined || ++visitor.strangers > MAX_STRANGERS
    },
    sendAway: ({ id }: Session) => visitors.get(id)?.sendAway(),
    leave({ id }: Session): void {
      clearTimeout(visitors.get(id)?.timer)
      visitors.delete(id)
    },
  }
}
