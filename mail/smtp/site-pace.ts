// The pace of a site: how many connections it gets after it has refused one. One rule, for every address and site.

/** A site that has refused a connection, and gets fewer of them than its limit allows. */
export interface SitePace {
  /** The connections that the site gets for now. */
  places: number
  /** When the site refused a connection for the last time. */
  slowedAtMs: number
  /** When a place was added for the last time. */
  raisedAtMs: number
}

/** No place is added for this time after a refusal. */
const NO_RISE_MS = 600_000
/** Then one place is added for each of these spans in which a message succeeded. */
const RISE_EVERY_MS = 60_000

interface RefusedConnection {
  /** The connections that the site has accepted and that are open, without the refused one. */
  open: number
  /** When the refused connection was dialled. */
  dialledAtMs: number
  nowMs: number
}

/**
 * The pace after a refused connection. The first refusal leaves the places that the site has accepted, a later one half
 * of them. A connection that was dialled before the last refusal is part of the same burst, and changes nothing.
 */
export function slowed(pace: SitePace | undefined, { open, dialledAtMs, nowMs }: RefusedConnection): SitePace {
  if (pace && dialledAtMs < pace.slowedAtMs) return pace
  const places = Math.max(1, pace ? Math.floor(pace.places / 2) : open)
  return { places, slowedAtMs: nowMs, raisedAtMs: nowMs }
}

/** The pace after the site has accepted a connection: it takes at least the number that is open. */
export function accepted(pace: SitePace, open: number): SitePace {
  return open > pace.places ? { ...pace, places: open } : pace
}

/** The pace after a message succeeded. Returns undefined when the site gets all of its `limit` again. */
export function succeeded(pace: SitePace, limit: number, nowMs: number): SitePace | undefined {
  if (nowMs - pace.slowedAtMs < NO_RISE_MS || nowMs - pace.raisedAtMs < RISE_EVERY_MS) return pace
  const places = pace.places + 1
  return places < limit ? { ...pace, places, raisedAtMs: nowMs } : undefined
}
