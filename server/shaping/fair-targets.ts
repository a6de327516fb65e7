/** A process that has waited this long for its first place gets one from another process. */
const WAIT_MS = 1_000

export interface PlaceClaim {
  /** The places that it holds. */
  places: number
  /** The places that it could use. */
  wanted: number
  /** Since when it wants a place and has none. */
  waitingSinceMs?: number
}

/**
 * How many of the places each claim should hold: none more than it wants, and what one leaves is shared among the
 * others. Where there are fewer places than claims, the order is: those that have waited long, those that hold places,
 * the others.
 */
export function fairTargets<Name>(
  claims: ReadonlyMap<Name, PlaceClaim>,
  places: number,
  nowMs: number,
): ReadonlyMap<Name, number> {
  const order = [...claims].toSorted(([, a], [, b]) => compare(a, b, nowMs))
  const targets = order.map(([name, { wanted }]) => ({ name, wanted, places: 0 }))
  let left = places
  while (left > 0) {
    const unmet = targets.filter((target) => target.places < target.wanted)
    if (unmet.length === 0) break
    const share = Math.max(1, Math.floor(left / unmet.length))
    for (const target of unmet) {
      const more = Math.min(share, left, target.wanted - target.places)
      target.places += more
      left -= more
    }
  }
  return new Map(targets.map((target) => [target.name, target.places]))
}

function compare(a: PlaceClaim, b: PlaceClaim, nowMs: number): number {
  const byTurn = turnOf(a, nowMs) - turnOf(b, nowMs)
  return byTurn || b.places - a.places || (a.waitingSinceMs ?? nowMs) - (b.waitingSinceMs ?? nowMs)
}

function turnOf({ places, waitingSinceMs = Number.POSITIVE_INFINITY }: PlaceClaim, nowMs: number): number {
  if (places > 0) return 1
  return nowMs - waitingSinceMs >= WAIT_MS ? 0 : 2
}
