import { networkOf } from '../egress/network.ts'

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

/** Who is connected, and how much of it is enough. */
export function createVisitors({ connectionsOfOne, totalMs }: { connectionsOfOne: number; totalMs: number }) {
  const visitors = new Map<string, Visitor>()
  return {
    /** True when this one has too many connections already. `sendAway` is called when its time is over. */
    enter({ id, remoteAddress }: Session, sendAway: () => void): boolean {
      const network = networkOf(remoteAddress)
      const others = [...visitors.values()].filter((visitor) => visitor.network === network)
      if (others.length >= connectionsOfOne) return true
      visitors.set(id, { network, transactions: 0, strangers: 0, sendAway, timer: setTimeout(sendAway, totalMs) })
      return false
    },
    /** False when it has begun enough mails. */
    begins({ id }: Session): boolean {
      const visitor = visitors.get(id)
      return visitor !== undefined && ++visitor.transactions <= MAX_TRANSACTIONS
    },
    /** Whether it has named too many recipients that are not ours; counts one. */
    isLost({ id }: Session): boolean {
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
